"""The optimal k-sparse codes of the classes in a batch, by an exact minimum cost flow [Jeong and Song 2018]."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COST_BITS = 62  # the bits of int64 that costs may use; one bit is left for sums inside the solver


def assign(class_means: NDArray[np.floating], k: int, lam: float, *, arcs: int | None = None) -> Bools:
    """The codes bool[n_c, d], k ones a row, that minimise eq. 5 for ``class_means`` float[n_c, d].

    Eq. 5 is minus the sum of the means under the codes, plus lam y (y - 1) for each bucket that y classes share, with
    ``lam`` >= 0 (half of ``plamb`` in the released code). The same input gives the same of several optima.

    In the network of the paper each class p sends k units; an arc to bucket q costs -c_p[q] and has capacity 1; n_c
    unit arcs from a bucket to the sink cost 2 lam r, r = 0, 1, ... Here a bucket starts with so many ``arcs``, by
    default 2 ceil(n_c k / d), and gets n_c when all are used. When no bucket with fewer is full, the flow is optimal in
    the whole network: a cycle of negative cost would need only the cheapest unused arc of a bucket, which is there.

    Costs are multiplied by the largest power of two with which the solver's potentials and the total cost certainly
    fit into int64, and rounded to integers: each of the n_c k units of flow loses at most two halves of that.

    >>> assign(np.array([[3.0, 2.0, 0.0], [3.0, 1.0, 0.5]]), k=1, lam=1.0).astype(int)  # both want the first bucket
    array([[0, 1, 0],
           [1, 0, 0]])
    """
    means = np.asarray(class_means, np.float64)
    if not np.isfinite(means).all():
        raise HashbenchError("class means: not finite (NaN or inf): finite activations are expected")
    n_classes, d = means.shape
    least = -(-n_classes * k // d)  # arcs a bucket: with fewer, not all flow arrives
    arcs_of = np.full(d, min(n_classes, max(least, arcs or 2 * least)))
    while True:  # at most d + 1 times, because each time except the last one gives a bucket all its arcs
        codes = _solve(means, k, lam, arcs_of)
        is_full = (codes.sum(axis=0) == arcs_of) & (arcs_of < n_classes)
        if not is_full.any():
            return codes
        arcs_of = np.where(is_full, n_classes, arcs_of)


def _solve(means: Floats, k: int, lam: float, arcs: Ints) -> Bools:
    n_classes, d = means.shape
    bucket = np.repeat(np.arange(d), arcs)
    place = np.arange(len(bucket)) - np.repeat(np.cumsum(arcs) - arcs, arcs)  # of an arc among those of its bucket
    price = 2 * (lam * place)
    largest = max(np.abs(means).max(), price.max())
    n_nodes = n_classes + d + 1
    flow = n_classes * k
    # the solver multiplies costs by n_nodes + 1, and a potential is a sum of such costs along a path
    largest_cost = 2**COST_BITS // max((n_nodes + 2) ** 2, 2 * flow)
    exponent = largest_cost.bit_length() - 1 - int(np.frexp(largest)[1])
    gain = np.rint(np.ldexp(means, exponent)).astype(np.int64)
    return _min_cost_flow(-gain, np.rint(np.ldexp(price, exponent)).astype(np.int64), bucket, k)


def _min_cost_flow(cost: Ints, price: Ints, bucket: Ints, k: int) -> Bools:
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    n_classes, d = cost.shape
    classes = np.arange(n_classes, dtype=np.int32)
    buckets = np.arange(n_classes, n_classes + d, dtype=np.int32)
    network: Any = SimpleMinCostFlow()
    for tail, head, unit_cost in (
        (np.repeat(classes, d), np.tile(buckets, n_classes), cost.ravel()),
        (buckets[bucket], np.full(len(bucket), n_classes + d, np.int32), price),
    ):
        network.add_arcs_with_capacity_and_unit_cost(tail, head, np.ones(len(tail), np.int64), unit_cost)
    supplies = np.concatenate([np.full(n_classes, k), np.zeros(d, np.int64), [-n_classes * k]])
    network.set_nodes_supplies(np.arange(n_classes + d + 1, dtype=np.int32), supplies)
    status = network.solve()
    if status != network.OPTIMAL:
        raise HashbenchError(f"minimum cost flow, {n_classes} classes and {d} buckets: the solver says {status.name}")
    return network.flows(np.arange(n_classes * d, dtype=np.int32)).reshape(n_classes, d) > 0
