"""Average precision when every tie falls badly."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._cut import Cut
from hashbench.metrics._groups import Counts, Groups
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName
from hashbench.metrics._precision_sums import in_a_row, normalise


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """The smallest average precision that any order of the tied items gives, float64[q].

    Relevant items come last in every tie group (the lower end of the range in He et al. 2018, fig. 3); a group that
    ``@k`` cuts shows only those that its other items leave room for. With norm ``retrieved`` that need not be the
    least: there the number of relevant items that the cut group shows is the one that gives least.

    >>> evaluate(Histogram(np.array([[[1, 1]]]), np.array([0, 1])), MetricName("ap_worst"))
    array([0.5])
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.at)
    norm = METRIC.setting(name, "norm")
    irrelevant = groups.n - groups.p
    if norm == "retrieved":
        return _over_retrieved(Cut.of(groups, ranks, in_a_row(groups, groups.n_before + irrelevant, groups.p)))
    found = np.maximum(groups.inside(ranks) - irrelevant, 0)
    totals = in_a_row(groups, groups.n_before + irrelevant, found).sum(axis=1)
    return normalise(totals, groups, ranks, norm)


def _over_retrieved(cut: Cut) -> NDArray[np.float64]:
    """The least over all numbers x of relevant items in the cut group, which stand last among its ranks.

    One more of them adds (P_0 + 1) / (N_0 + m - x) + sum_{t > N_0 + m - x} 1 / t, which grows with x: a mean to which
    ever larger terms are added falls until they exceed it and never falls again. The turn is found by bisection.
    """
    low, high = cut.least, cut.most  # the turn is in low .. high
    while (low < high).any():
        x = (low + high) // 2
        falls = (low < high) & (_at(cut, np.minimum(x + 1, high)) < _at(cut, x))
        low, high = np.where(falls, x + 1, low), np.where(falls, high, x)
    return _at(cut, low)


def _at(cut: Cut, x: Counts) -> NDArray[np.float64]:
    return cut.over_retrieved(x, cut.m - x)


METRIC = Metric(
    summary="average precision with the relevant items last in every tie",
    paper="he2018tieaware",
    evaluate=evaluate,
    at=("rank",),
    parameters={"norm": ("all", "min", "retrieved")},
    is_bound=True,
)
