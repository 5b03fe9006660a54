"""Tie-aware normalised discounted cumulative gain."""

import numpy as np

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.metrics._formula import Cutoff, Floats, Groups, Histogram, Ints, Metric, MetricName, discount

MAX_LEVEL = 1000  # float64 ends below 2^1024, and sums of gains, times SCALE, must stay below that
SCALE = 2.0**-64  # of gains: a power of 2 changes no digit of a sum, and no ratio of two


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """The NDCG of each query, float64[q]: its mean over all orders of the tied items.

    DCG_T = sum_d (mean gain of group d) x (sum of the discounts of its ranks), divided by the DCG of the ideal order
    [He et al. 2018, eqs. 4 and 7]. The gain of level v is 2^v - 1, the discount of rank t is 1 / log2(t + 1). With
    ``@k`` ranks beyond k add nothing, also in the ideal order (eq. 20).
    """
    return of_gains(histogram, gains_of(histogram.levels), name.cutoff)


def of_gains(histogram: Histogram, gains: Floats, cutoff: Cutoff | None = None) -> Floats:
    """The NDCG of each query, float64[q], if level v has the gain ``gains[v]``; 0 if no item has a gain."""
    groups = Groups.of(histogram)
    ranks = groups.ranks(cutoff)
    discounts = discount(int(ranks.max(initial=0)))
    gains = gains * SCALE
    mean_gain = (histogram.counts @ gains) / np.maximum(groups.n, 1)
    start = np.minimum(groups.n_before, ranks[:, None])
    dcg = (mean_gain * discounts.between(start, start + groups.inside(ranks))).sum(axis=1)
    # in the ideal order the items of a level take consecutive ranks, the highest level first
    descending = histogram.counts.sum(axis=1)[:, ::-1]
    stop = descending.cumsum(axis=1)
    start = np.minimum(stop - descending, ranks[:, None])
    ideal = discounts.between(start, np.minimum(stop, ranks[:, None])) @ gains[::-1]
    return dcg / np.where(ideal > 0, ideal, 1.0)


def gains_of(levels: Ints) -> Floats:
    """The gain 2^v - 1 of each level, float64[v]; raises HashbenchError for a level above MAX_LEVEL."""
    if levels.max() > MAX_LEVEL:
        raise HashbenchError(f"ndcg: level {levels.max()}: its gain 2^v needs a level of {MAX_LEVEL} at most")
    return np.exp2(levels.astype(np.float64)) - 1.0


METRIC = Metric(
    summary="normalised discounted cumulative gain, gain 2^v - 1, expected over the orders of tied items",
    paper="he2018tieaware",
    evaluate=evaluate,
    cutoffs=("rank",),
)
