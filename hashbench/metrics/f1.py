"""Tie-aware F1, at a rank or at a Hamming radius."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._groups import Groups, share
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """The harmonic mean of precision and recall of each query, float64[q]: its mean over all orders of the tied items.

    It is 2 x (relevant items retrieved) / (items retrieved + N^+), which is linear in the relevant items retrieved: so
    the group that contains rank k counts in proportion [McSherry and Najork 2008]. ``f1@rR`` is over the items within
    Hamming radius R; a query that retrieves nothing scores 0. The mean over the queries is not the F1 of mean precision
    and mean recall.

    One of two retrieved items is relevant, of two relevant ones: precision, recall and F1 are 1/2.

    >>> evaluate(Histogram(np.array([[[1, 1], [2, 1]]]), np.array([0, 1])), MetricName.read("f1@r0"))
    array([0.5])
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    found = (groups.inside(ranks) * share(groups.p, groups.n)).sum(axis=1)
    return 2 * found / np.maximum(ranks + groups.n_relevant, 1)


METRIC = Metric(
    summary="harmonic mean of a query's precision and recall, of the first k or within Hamming radius R (@rR)",
    paper="mcsherry2008computing",
    evaluate=evaluate,
    cutoffs=("rank", "radius"),
    cutoff_required=True,
)
