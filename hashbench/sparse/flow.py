"""The best k-sparse codes of the classes in a batch: a minimum cost flow, solved exactly [Jeong and Song 2018]."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hashbench.errors import HashbenchError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COST_BITS = 62  # of int64, one bit kept free for the solver's own sums


@dataclass(frozen=True, eq=False)
class Optimum:
    """``codes`` bool[n_c, d], their ``loss_bound`` in units of the objective, and how many networks were solved."""

    codes: Bools
    loss_bound: float
    n_solves: int


@dataclass(frozen=True, eq=False)
class _Problem:
    """Checked input: ``means`` float64[n_c, d], ``k`` ones a class, ``lam`` float64[d]."""

    means: Floats
    k: int
    lam: Floats


def assign(class_means: NDArray[np.floating], k: int, lam: float | NDArray[np.floating]) -> Bools:
    """The codes bool[n_c, d], k ones a row, that minimise eq. 5 for ``class_means`` float[n_c, d].

    Eq. 5 is minus the sum of the means under the codes, plus lam_q y (y - 1) for each bucket q that y classes share:
    each ordered pair of them pays ``lam``, at least 0, one number or float[d] of each bucket. (The released code's
    ``plamb`` is twice that.) Exact but for the rounding of costs to integers, see ``optimum``. Of several
    optima it is the solver's, the same for the same input. k of 0 or more than d, fewer than two classes, means that
    are not finite, and a negative or misshapen ``lam`` raise HashbenchError.

    >>> assign(np.array([[3.0, 2.0, 0.0], [3.0, 1.0, 0.5]]), k=1, lam=1.0).astype(int)  # both want the first bucket
    array([[0, 1, 0],
           [1, 0, 0]])
    """
    return optimum(class_means, k, lam).codes


def optimum(
    class_means: NDArray[np.floating], k: int, lam: float | NDArray[np.floating], *, start: int | None = None
) -> Optimum:
    """What ``assign`` gives, with a bound on what rounding lost.

    The network is that of the paper: k units from each class p, at -c_p[q] to a bucket q (capacity 1), and from a
    bucket to the sink by unit arcs that cost 2 lam_q r, r = 0, 1, ... The paper gives each bucket n_c of these; here a
    bucket begins with ``start``, by default 2 ceil(n_c k / d), twice what an even spread needs. A bucket that fills
    is given all n_c, and the flow is solved again. Once no bucket with fewer than n_c arcs is full, the flow is
    optimal in the whole network too: a cheaper one would differ from it by a cycle of negative cost, and of a bucket's
    unused arcs such a cycle needs only the cheapest, which is there.

    Costs are multiplied by a power of two and rounded to integers. That moves the cost of a class arc by at most e_1,
    of a sink arc by at most e_2, each at most 1/2, and 0 where all costs become whole. Each of the n_c k units of flow
    pays one of either, so the cost of any codes moves by at most n_c k (e_1 + e_2) / scale, and the codes found lose
    at most twice that, the ``loss_bound``. The scale is the largest at which the solver's potentials and the total fit
    into int64 for certain: at n_c = d = 512 and k = 4 the bound is below 4e-9 of the largest single cost.
    """
    problem = _checked(class_means, k, lam)
    n_classes, d = problem.means.shape
    least = -(-n_classes * k // d)  # arcs a bucket: with fewer, not all flow arrives
    arcs = np.full(d, min(n_classes, max(least, 2 * least if start is None else start)))
    n_solves = 0
    while True:  # d + 1 times at most: each time but the last gives a bucket all arcs
        n_solves += 1
        codes, loss_bound = _solve(problem, arcs)
        full = (codes.sum(axis=0) == arcs) & (arcs < n_classes)
        if not full.any():
            return Optimum(codes, loss_bound, n_solves)
        arcs = np.where(full, n_classes, arcs)


def _checked(class_means: NDArray[np.floating], k: int, lam: ArrayLike) -> _Problem:
    means, prices = np.asarray(class_means, np.float64), np.asarray(lam, np.float64)
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
    return _Problem(means, k, np.broadcast_to(prices, d))


def _solve(problem: _Problem, arcs: Ints) -> tuple[Bools, float]:
    """The optimal codes in the network with so many ``arcs`` a bucket, and the bound on what rounding loses."""
    n_classes, d = problem.means.shape
    bucket, place = np.repeat(np.arange(d), arcs), np.concatenate([np.arange(n) for n in arcs])
    with np.errstate(over="ignore"):
        price = 2 * (problem.lam[bucket] * place)
    flow = n_classes * problem.k
    exponent = _exponent(max(np.abs(problem.means).max(), price.max()), n_nodes=n_classes + d + 1, flow=flow)
    gain, whole_gain = _whole(problem.means, exponent)
    whole_price = _whole(price, exponent)[1]
    codes = _min_cost_flow(-whole_gain, whole_price, bucket, problem.k)
    step, whole_step = _whole(2 * problem.lam, exponent)
    error = float(np.abs(gain - whole_gain).max()) + (0.0 if np.array_equal(step, whole_step) else 0.5)
    return codes, float(np.ldexp(2 * flow * error, -exponent))


def _exponent(largest: float, n_nodes: int, flow: int) -> int:
    """The power of two to multiply costs with, so that int64 holds every sum; where none does, HashbenchError.

    The solver multiplies costs by n_nodes + 1, and a potential is a sum of such costs along a path.
    """
    if not np.isfinite(largest):
        raise HashbenchError("costs: 2 lambda n_c leaves the range of float64: a smaller lambda is expected")
    room = 2**COST_BITS // max((n_nodes + 2) ** 2, 2 * flow)
    return room.bit_length() - 1 - int(np.frexp(largest)[1])


def _whole(costs: Floats, exponent: int) -> tuple[Floats, Ints]:
    scaled = np.ldexp(costs, exponent)
    return scaled, np.rint(scaled).astype(np.int64)


def _min_cost_flow(cost: Ints, price: Ints, bucket: Ints, k: int) -> Bools:
    """The codes of the cheapest flow, bool[n_c, d]: a class pays ``cost``, a unit arc of each ``bucket`` ``price``."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    n_classes, d = cost.shape
    classes, buckets = np.arange(n_classes, dtype=np.int32), np.arange(n_classes, n_classes + d, dtype=np.int32)
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
