"""The smallest average precision over the orders of tied items."""

from dataclasses import replace

import numpy as np

from hashbench.scoring.metrics import ap
from hashbench.scoring.metrics._formula import Cut, Floats, Groups, Histogram, MetricName


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """The smallest average precision over the orders of tied items, float64[q].

    Relevant items come last in every tie group (the lower end of the range in He et al. 2018, fig. 3); in the group
    that contains rank k, irrelevant items take the ranks before the cutoff first. With norm ``retrieved`` that is not
    always the smallest value: there the number of relevant items before the cutoff is the one that gives the smallest.
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    norm = METRIC.setting(name, "norm")
    irrelevant = groups.n - groups.p
    start = groups.n_before + irrelevant
    if norm == "retrieved":
        return _over_retrieved(Cut.of(groups, ranks, groups.precision_in_a_row(start, groups.p)))
    n_last = np.maximum(groups.inside(ranks) - irrelevant, 0)
    return groups.average(groups.precision_in_a_row(start, n_last), ranks, norm)


def _over_retrieved(cut: Cut) -> Floats:
    """The minimum over x, the number of relevant items of the group before the cutoff; they are last among its ranks.

    One more relevant item adds (P_0 + 1) / (N_0 + m - x) + sum_{t > N_0 + m - x} 1 / t, which grows with x. If ever
    larger terms join a mean, it falls until they exceed it and never falls again. Bisection finds this minimum.
    """
    low = cut.min_relevant  # the minimum is in low .. high
    high = cut.max_relevant
    while (low < high).any():
        x = (low + high) // 2
        more = np.minimum(x + 1, high)
        falls = (low < high) & (cut.over_retrieved(more, cut.m - more) < cut.over_retrieved(x, cut.m - x))
        low = np.where(falls, x + 1, low)
        high = np.where(falls, high, x)
    return cut.over_retrieved(low, cut.m - low)


METRIC = replace(
    ap.METRIC, summary="average precision with the relevant items last in every tie", evaluate=evaluate, is_bound=True
)
