"""Tie-aware average precision."""

import numpy as np

from hashbench.foundation.parallel import slices
from hashbench.scoring.metrics._formula import Cut, Floats, Groups, Histogram, Ints, Metric, MetricName, over, rank_sums

WINDOW = 1 << 20  # entries of the tables of hypergeometric probabilities that are in memory at a time


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
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
        return _over_retrieved(Cut.of(groups, ranks, groups.expected_precision(groups.n)))
    return groups.average(groups.expected_precision(groups.inside(ranks)), ranks, norm)


def _over_retrieved(cut: Cut) -> Floats:
    """AP with norm ``retrieved``, float64[q]; the divisor depends on the order of the group with rank k."""
    widths = half_width(cut.n, cut.p, cut.m)
    step = max(1, WINDOW // (2 * int(widths.max(initial=0)) + 1))
    values = np.zeros(len(widths))
    for rows in slices(len(widths), step):
        m = cut.m[rows, None]
        p0 = cut.p_before[rows, None]
        x, probability = mass(cut.n[rows], cut.p[rows], cut.m[rows], int(widths[rows].max()))
        inverse, offset = rank_sums(cut.n_before[rows, None], m)
        # the AP if x of the m items of the group before the cutoff are relevant
        seen = (p0 + 1) * inverse + (x - 1) / np.maximum(m - 1, 1) * offset
        given_x = over(cut.totals[rows, None] + x / np.maximum(m, 1) * seen, p0 + x)
        values[rows] = (probability * given_x).sum(axis=1)
    return values


def half_width(n: Ints, p: Ints, m: Ints) -> Ints:
    """The distance from the mode, int64[q], beyond which the probability is less than 1e-21 (Hoeffding's bound).

    exp(-2 w^2 / m) holds for draws without replacement, and by symmetry with p, n - m or n - p in place of m.
    """
    least = np.minimum(np.minimum(m, n - m), np.minimum(p, n - p))
    return np.ceil(5 * np.sqrt(least)).astype(np.int64) + 1


def mass(n: Ints, p: Ints, m: Ints, width: int) -> tuple[Ints, Floats]:
    """The values x, int64[q, 2 width + 1], and P(X = x), of the hypergeometric distribution.

    X is the number of relevant items among m items drawn from n, of which p are relevant. The probabilities are
    computed outwards from the mode by the ratio of neighbours; differences of log-gammas would lose digits at large
    counts. An impossible x has probability 0, because the ratio that leads to it is 0.
    """
    n = n[:, None]
    p = p[:, None]
    m = m[:, None]
    mode = (m + 1) * (p + 1) // (n + 2)
    steps = np.arange(width)
    up = mode + steps
    down = mode - steps
    rise = (m - up) * (p - up) / ((up + 1.0) * (n - p - m + up + 1))
    fall = down * (n - p - m + down) / ((m - down + 1.0) * (p - down + 1))
    above = np.cumprod(rise, axis=1)
    below = np.cumprod(fall, axis=1)
    relative = np.concatenate([below[:, ::-1], np.ones_like(mode, np.float64), above], axis=1)
    return mode + np.arange(-width, width + 1), relative / relative.sum(axis=1, keepdims=True)


METRIC = Metric(
    summary="average precision, expected over the orders of tied items",
    paper="he2018tieaware",
    evaluate=evaluate,
    cutoffs=("rank",),
    parameters={"norm": ("all", "min", "retrieved")},
)
