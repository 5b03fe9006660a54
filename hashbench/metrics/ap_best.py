"""The largest average precision over the orders of tied items."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._groups import Groups
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName
from hashbench.metrics._precision_sums import Cut, in_a_row, normalise


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """The largest average precision over the orders of tied items, float64[q].

    Relevant items come first in every tie group (the upper end of the range in He et al. 2018, fig. 3), also in the
    group that contains rank k. With norm ``retrieved`` a late relevant item can lower the mean: there that group has
    as many relevant items before the cutoff as possible, or as few as possible, whichever gives more. Precision grows
    from one relevant item to the next if only relevant items follow each other, so more of them first lower and then
    raise the mean, and the largest value is at one of the two ends.

    >>> evaluate(Histogram(np.array([[[1, 1]]]), np.array([0, 1])), MetricName("ap_best"))
    array([1.])
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    norm = METRIC.setting(name, "norm")
    if norm == "retrieved":
        cut = Cut.of(groups, ranks, in_a_row(groups, groups.n_before, groups.p))
        at_start = np.zeros_like(ranks)
        return np.maximum(
            cut.over_retrieved(cut.min_relevant, at_start), cut.over_retrieved(cut.max_relevant, at_start)
        )
    found = np.minimum(groups.p, groups.inside(ranks))
    return normalise(in_a_row(groups, groups.n_before, found).sum(axis=1), groups, ranks, norm)


METRIC = Metric(
    summary="average precision with the relevant items first in every tie",
    paper="he2018tieaware",
    evaluate=evaluate,
    cutoffs=("rank",),
    parameters={"norm": ("all", "min", "retrieved")},
    is_bound=True,
)
