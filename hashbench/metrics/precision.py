"""Tie-aware precision at a rank, at a Hamming radius, or at rank N^+ (the number of relevant items)."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._groups import Groups, share
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """The share of the retrieved items that is relevant, float64[q]: its mean over all orders of the tied items.

    ``precision@k`` is P_T@k: the group that contains rank k counts in proportion, the groups before it in full
    [McSherry and Najork 2008]. ``precision@rR`` is P@H<=R, over the items within Hamming radius R; a query that
    retrieves nothing scores 0. ``precision@r`` is R-precision, k = N^+ of the query.

    >>> evaluate(Histogram(np.array([[[1, 1], [2, 0]]]), np.array([0, 1])), MetricName.read("precision@1"))
    array([0.5])
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    found = (groups.inside(ranks) * share(groups.p, groups.n)).sum(axis=1)
    return found / np.maximum(ranks, 1)


METRIC = Metric(
    summary="relevant share of the first k, of those within Hamming radius R (@rR), or of the first N+ (@r)",
    paper="mcsherry2008computing",
    evaluate=evaluate,
    cutoffs=("rank", "radius", "n_relevant"),
    cutoff_required=True,
)
