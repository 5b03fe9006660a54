"""The optimal k-sparse codes of the classes in a batch, by an exact minimum cost flow [Jeong and Song 2018]."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COST_BITS = 62  # the bits of int64 that costs may use; one bit is left for sums inside the solver


class Optimum(NamedTuple):
    """The optimal ``codes`` bool[n_c, d], a bound on their loss by rounding, and the number of networks solved."""

    codes: Bools
    loss_bound: float
    n_solves: int


def assign(class_means: NDArray[np.floating], k: int, lam: float | NDArray[np.floating]) -> Bools:
    """The codes bool[n_c, d], k ones a row, that minimise eq. 5 for ``class_means`` float[n_c, d].

    Eq. 5 is minus the sum of the means under the codes, plus lam_q y (y - 1) for each bucket q that y classes share,
    with ``lam`` >= 0 one number or float[d] (half of ``plamb`` in the released code). The result is exact up to the
    rounding of costs to integers, see ``optimum``; the same input gives the same of several optima.

    >>> assign(np.array([[3.0, 2.0, 0.0], [3.0, 1.0, 0.5]]), k=1, lam=1.0).astype(int)  # both want the first bucket
    array([[0, 1, 0],
           [1, 0, 0]])
    """
    return optimum(class_means, k, lam).codes


def optimum(
    class_means: NDArray[np.floating], k: int, lam: float | NDArray[np.floating], *, start: int | None = None
) -> Optimum:
    """The codes of ``assign``, with a bound on their loss by rounding.

    In the network of the paper each class p sends k units; an arc to bucket q costs -c_p[q] and has capacity 1; n_c
    unit arcs from a bucket to the sink cost 2 lam_q r, r = 0, 1, ... Here a bucket starts with ``start``, by default
    2 ceil(n_c k / d), and gets n_c arcs when all are used. When no bucket with fewer is full, the flow is optimal in
    the whole network: a cycle of negative cost would need only the cheapest unused arc of a bucket, which is there.

    Costs are multiplied by a power of two, the scale, and rounded to integers, which changes the cost of a class arc by
    at most e_1 and of a sink arc by at most e_2; both are at most 1/2, and 0 for whole numbers. Each of the n_c k units
    of flow pays one of each, so the result loses at most 2 n_c k (e_1 + e_2) / scale: the ``loss_bound``. The scale is
    the largest with which the solver's potentials and the total cost certainly fit into int64.
    """
    means = np.asarray(class_means, np.float64)
    prices = np.asarray(lam, np.float64)
    _require(means, k, prices)
    n_classes, d = means.shape
    prices = np.broadcast_to(prices, d)
    least = -(-n_classes * k // d)  # arcs a bucket: with fewer, not all flow arrives
    if start is None:
        start = 2 * least
    arcs = np.full(d, min(n_classes, max(least, start)))
    n_solves = 0
    while True:  # at most d + 1 times, because each time except the last one gives a bucket all its arcs
        n_solves += 1
        codes, loss_bound = _solve(means, k, prices, arcs)
        full = (codes.sum(axis=0) == arcs) & (arcs < n_classes)
        if not full.any():
            return Optimum(codes, loss_bound, n_solves)
        arcs = np.where(full, n_classes, arcs)


def _require(means: Floats, k: int, prices: Floats) -> None:
    if means.ndim != 2 or len(means) < 2:
        raise HashbenchError(f"class means of shape {means.shape}: two classes or more, [n_c, d], are expected")
    d = means.shape[1]
    if not 1 <= k <= d:
        raise HashbenchError(f"k = {k}: a class sets 1 to {d} of {d} buckets")
    if not np.isfinite(means).all():
        raise HashbenchError("class means: not finite (NaN or inf): finite activations are expected")
    if prices.shape not in ((), (d,)):
        raise HashbenchError(f"lambda of shape {prices.shape}: one number, or one for each of the {d} buckets")
    if not (np.isfinite(prices) & (prices >= 0)).all():
        raise HashbenchError("lambda: negative or not finite; the price of a shared bucket is 0 or more")


def _solve(means: Floats, k: int, prices: Floats, arcs: Ints) -> tuple[Bools, float]:
    n_classes, d = means.shape
    bucket = np.repeat(np.arange(d), arcs)
    place = np.arange(len(bucket)) - np.repeat(np.cumsum(arcs) - arcs, arcs)  # of an arc among those of its bucket
    with np.errstate(over="ignore"):
        price = 2 * (prices[bucket] * place)
    flow = n_classes * k
    exponent = _exponent(max(np.abs(means).max(), price.max()), n_nodes=n_classes + d + 1, flow=flow)
    gain, whole_gain = _whole(means, exponent)
    whole_price = _whole(price, exponent)[1]
    codes = _min_cost_flow(-whole_gain, whole_price, bucket, k)
    step, whole_step = _whole(2 * prices, exponent)
    error = float(np.abs(gain - whole_gain).max())
    if not np.array_equal(step, whole_step):
        error += 0.5
    return codes, float(np.ldexp(2 * flow * error, -exponent))


def _exponent(largest: float, n_nodes: int, flow: int) -> int:
    if not np.isfinite(largest):
        raise HashbenchError("costs: 2 lambda n_c leaves the range of float64: a smaller lambda is expected")
    # the solver multiplies costs by n_nodes + 1, and a potential is a sum of such costs along a path
    largest_cost = 2**COST_BITS // max((n_nodes + 2) ** 2, 2 * flow)
    return largest_cost.bit_length() - 1 - int(np.frexp(largest)[1])


def _whole(costs: Floats, exponent: int) -> tuple[Floats, Ints]:
    scaled = np.ldexp(costs, exponent)
    return scaled, np.rint(scaled).astype(np.int64)


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
