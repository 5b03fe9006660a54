"""The smallest average precision over the orders of tied items."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._groups import Groups, Ints
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName
from hashbench.metrics._precision_sums import Cut, in_a_row, normalise


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """The smallest average precision over the orders of tied items, float64[q].

    Relevant items come last in every tie group (the lower end of the range in He et al. 2018, fig. 3); in the group
    that contains rank k, irrelevant items take the ranks before the cutoff first. With norm ``retrieved`` that is not
    always the smallest value: there the number of relevant items before the cutoff is the one that gives the smallest.

    >>> evaluate(Histogram(np.array([[[1, 1]]]), np.array([0, 1])), MetricName("ap_worst"))
    array([0.5])
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    norm = METRIC.setting(name, "norm")
    irrelevant = groups.n - groups.p
    if norm == "retrieved":
        return _over_retrieved(Cut.of(groups, ranks, in_a_row(groups, groups.n_before + irrelevant, groups.p)))
    found = np.maximum(groups.inside(ranks) - irrelevant, 0)
    totals = in_a_row(groups, groups.n_before + irrelevant, found).sum(axis=1)
    return normalise(totals, groups, ranks, norm)


def _over_retrieved(cut: Cut) -> NDArray[np.float64]:
    """The minimum over x, the number of relevant items of the group before the cutoff; they are last among its ranks.

    One more relevant item adds (P_0 + 1) / (N_0 + m - x) + sum_{t > N_0 + m - x} 1 / t, which grows with x. If ever
    larger terms join a mean, it falls until they exceed it and never falls again. Bisection finds this minimum.
    """
    low, high = cut.min_relevant, cut.max_relevant  # the minimum is in low .. high
    while (low < high).any():
        x = (low + high) // 2
        falls = (low < high) & (_at(cut, np.minimum(x + 1, high)) < _at(cut, x))
        low, high = np.where(falls, x + 1, low), np.where(falls, high, x)
    return _at(cut, low)


def _at(cut: Cut, x: Ints) -> NDArray[np.float64]:
    return cut.over_retrieved(x, cut.m - x)


METRIC = Metric(
    summary="average precision with the relevant items last in every tie",
    paper="he2018tieaware",
    evaluate=evaluate,
    cutoffs=("rank",),
    parameters={"norm": ("all", "min", "retrieved")},
    is_bound=True,
)
