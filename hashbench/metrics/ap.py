"""Tie-aware average precision."""

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.parallel import slices
from hashbench.histogram import Histogram
from hashbench.metrics._cut import Cut
from hashbench.metrics._groups import Counts, Groups
from hashbench.metrics._hypergeometric import half_width, mass
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName
from hashbench.metrics._precision_sums import expected, normalise, rank_sums

WINDOW = 1 << 20  # entries of the tables of hypergeometric probabilities that are in memory at a time


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """The average precision of each query, float64[q]: its mean over all orders of the tied items.

    AP_T = (1/N^+) sum_d G(N_{d-1}, N_{d-1}^+, n_d, n_d^+, n_d) [He et al. 2018, eq. 6]. With ``@k`` the sum runs
    over the first k ranks only, and it is exact if rank k is inside a tie group. It is divided by N^+ (``norm=all``,
    eq. 17), by min(N^+, k) (``min``), or by the number of relevant items among the first k (``retrieved``): there each
    order is divided by its own number before the mean is taken, and an order with none scores 0.

    Two items tie at distance 0 and one of them is relevant: precision 1 or 1/2 at its rank, 3/4 on average.

    >>> both_orders = Histogram(np.array([[[1, 1]]]), np.array([0, 1]))
    >>> evaluate(both_orders, MetricName("ap"))
    array([0.75])
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    norm = METRIC.setting(name, "norm")
    if norm == "retrieved":
        return _over_retrieved(groups, ranks)
    totals = expected(groups, groups.inside(ranks)).sum(axis=1)
    return normalise(totals, groups, ranks, norm)


def _over_retrieved(groups: Groups, ranks: Counts) -> NDArray[np.float64]:
    """AP at ``ranks`` [q] with norm ``retrieved``; the divisor depends on the order of the group with rank k."""
    cut = Cut.of(groups, ranks, expected(groups, groups.n))
    n0, p0, n, p, m = cut.n_before, cut.p_before, cut.n, cut.p, cut.m
    widths = half_width(n, p, m)
    step = max(1, WINDOW // (2 * int(widths.max(initial=0)) + 1))
    values = np.zeros(len(ranks))
    for rows in slices(len(ranks), step):
        x, probability = mass(n[rows], p[rows], m[rows], int(widths[rows].max()))
        values[rows] = (probability * _given(x, cut.totals[rows], n0[rows], p0[rows], m[rows])).sum(axis=1)
    return values


def _given(x: Counts, totals: NDArray[np.float64], n0: Counts, p0: Counts, m: Counts) -> NDArray[np.float64]:
    """AP with norm ``retrieved``, float64[q, x], if x of the m items of the group before the cutoff are relevant."""
    inverse, offset = rank_sums(n0, m)
    seen = (p0 + 1)[:, None] * inverse[:, None] + (x - 1) / np.maximum(m - 1, 1)[:, None] * offset[:, None]
    in_cut = x / np.maximum(m, 1)[:, None] * seen
    retrieved = p0[:, None] + x
    return np.where(retrieved > 0, totals[:, None] + in_cut, 0.0) / np.maximum(retrieved, 1)


METRIC = Metric(
    summary="average precision, expected over the orders of tied items",
    paper="he2018tieaware",
    evaluate=evaluate,
    cutoffs=("rank",),
    parameters={"norm": ("all", "min", "retrieved")},
)
