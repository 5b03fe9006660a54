"""Tie-aware precision at a rank, at a Hamming radius, or at rank N^+ (the number of relevant items)."""

import numpy as np

from hashbench.scoring.metrics._formula import Floats, Groups, Histogram, Metric, MetricName


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """The share of the retrieved items that is relevant, float64[q]: its mean over all orders of the tied items.

    ``precision@k`` is P_T@k: the group that contains rank k counts in proportion, the groups before it in full
    [McSherry and Najork 2008]. ``precision@rR`` is P@H<=R, over the items within Hamming radius R; a query that
    retrieves nothing scores 0. ``precision@r`` is R-precision, k = N^+ of the query.
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    return groups.retrieved(ranks).sum(axis=1) / np.maximum(ranks, 1)


METRIC = Metric(
    summary="relevant share of the first k, of those within Hamming radius R (@rR), or of the first N+ (@r)",
    paper="mcsherry2008computing",
    evaluate=evaluate,
    cutoffs=("rank", "radius", "n_relevant"),
    cutoff_required=True,
)
