"""Average precision when every tie falls badly."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._groups import Groups
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName
from hashbench.metrics._precision_sums import in_a_row, normalise


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """The smallest average precision that any order of the tied items gives, float64[q].

    Relevant items come last in every tie group (the lower end of the range in He et al. 2018, fig. 3); a group that
    ``@k`` cuts shows only those that its other items leave room for. Norms as in ``ap_best``.

    >>> evaluate(Histogram(np.array([[[1, 1]]]), np.array([0, 1])), MetricName("ap_worst"))
    array([0.5])
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.at)
    irrelevant = groups.n - groups.p
    found = np.maximum(groups.inside(ranks) - irrelevant, 0)
    totals = in_a_row(groups, groups.n_before + irrelevant, found).sum(axis=1)
    return normalise(totals, groups, ranks, METRIC.setting(name, "norm"))


METRIC = Metric(
    summary="average precision with the relevant items last in every tie",
    paper="he2018tieaware",
    evaluate=evaluate,
    at=("rank",),
    parameters={"norm": ("all", "min")},
)
