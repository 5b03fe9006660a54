"""Tie-aware recall, at a rank or at a Hamming radius."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._groups import Groups, share
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """The share of the relevant items that is retrieved, float64[q]: its mean over all orders of the tied items.

    ``recall@k`` is R_T@k: the group that contains rank k counts in proportion, the groups before it in full
    [McSherry and Najork 2008]. ``recall@rR`` is over the items within Hamming radius R.

    >>> evaluate(Histogram(np.array([[[1, 1], [2, 1]]]), np.array([0, 1])), MetricName.read("recall@r0"))
    array([0.5])
    """
    groups = Groups.of(histogram)
    found = (groups.inside(groups.ranks(name.cutoff)) * share(groups.p, groups.n)).sum(axis=1)
    return found / np.maximum(groups.n_relevant, 1)


METRIC = Metric(
    summary="share of the relevant items among the first k, or within Hamming radius R (@rR)",
    paper="mcsherry2008computing",
    evaluate=evaluate,
    cutoffs=("rank", "radius"),
    cutoff_required=True,
)
