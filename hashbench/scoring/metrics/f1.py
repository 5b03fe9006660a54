"""Tie-aware F1, at a rank or at a Hamming radius."""

import numpy as np

from hashbench.scoring.metrics._formula import Floats, Groups, Histogram, Metric, MetricName


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """The harmonic mean of precision and recall of each query, float64[q]: its mean over all orders of the tied items.

    It is 2 x (relevant items retrieved) / (items retrieved + N^+), which is linear in the relevant items retrieved: so
    the group that contains rank k counts in proportion [McSherry and Najork 2008]. ``f1@rR`` is over the items within
    Hamming radius R; a query that retrieves nothing scores 0. The mean over the queries is not the F1 of mean precision
    and mean recall.
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    return 2 * groups.retrieved(ranks).sum(axis=1) / np.maximum(ranks + groups.n_relevant, 1)


METRIC = Metric(
    summary="harmonic mean of a query's precision and recall, of the first k or within Hamming radius R (@rR)",
    paper="mcsherry2008computing",
    evaluate=evaluate,
    cutoffs=("rank", "radius"),
    cutoff_required=True,
)
