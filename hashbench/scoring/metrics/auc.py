"""Tie-aware area under the ROC curve."""

import numpy as np

from hashbench.scoring.metrics._formula import Floats, Groups, Histogram, Metric, MetricName

MANY = 1 << 32  # items, of which half are relevant: they have 2^63 half pairs, one more than an int64 holds


def evaluate(histogram: Histogram, name: MetricName) -> Floats:  # noqa: ARG001
    """The share of (relevant, irrelevant) pairs in the right order, float64[q]; a tied pair counts 1/2.

    AUC_T is the mean of Lin et al. 2014, eq. 19, over all orders of the tied items. A query without irrelevant items
    has no such pair and scores 1. Pairs are counted in whole numbers.
    """
    groups = Groups.of(histogram)
    tied = groups.n - groups.p
    n_relevant = groups.n_relevant
    n_irrelevant = tied.sum(axis=1)
    behind = n_irrelevant[:, None] - (groups.n_before - groups.p_before) - tied
    # whole numbers of Python hold the pairs of more items
    kind = np.dtype(np.int64 if groups.n.sum(axis=1).max(initial=0) < MANY else object)
    halves = (groups.p.astype(kind) * (2 * behind + tied)).sum(axis=1)
    pairs = 2 * n_relevant.astype(kind) * n_irrelevant
    return (np.where(pairs > 0, halves, 1) / np.maximum(pairs, 1)).astype(np.float64)


METRIC = Metric(
    summary="area under the ROC curve: relevant-irrelevant pairs in the right order, tied pairs counting one half",
    paper="lin2014optimizing",
    evaluate=evaluate,
)
