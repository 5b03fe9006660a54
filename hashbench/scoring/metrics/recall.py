"""Tie-aware recall, at a rank or at a Hamming radius."""

import numpy as np

from hashbench.scoring.metrics._formula import Floats, Groups, Histogram, Metric, MetricName


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """The share of the relevant items that is retrieved, float64[q]: its mean over all orders of the tied items.

    ``recall@k`` is R_T@k: the group that contains rank k counts in proportion, the groups before it in full
    [McSherry and Najork 2008]. ``recall@rR`` is over the items within Hamming radius R.
    """
    groups = Groups.of(histogram)
    return groups.retrieved(groups.ranks(name.cutoff)).sum(axis=1) / np.maximum(groups.n_relevant, 1)


METRIC = Metric(
    summary="share of the relevant items among the first k, or within Hamming radius R (@rR)",
    paper="mcsherry2008computing",
    evaluate=evaluate,
    cutoffs=("rank", "radius"),
    cutoff_required=True,
)
