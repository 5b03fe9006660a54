"""Tie-aware reciprocal rank of the first relevant item."""

import numpy as np

from hashbench.scoring.metrics._formula import Floats, Groups, Histogram, Metric, MetricName

RANKS = 64  # ranks of the first group that are added at a time
NEGLIGIBLE = 1e-30  # a probability below it, and all smaller ones after it, change no digit of the sum


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """1 / (the rank of the first relevant item) of each query, float64[q]: its mean over all orders of the tied items.

    The mean over the queries is the MRR. Only the first group with a relevant item matters: of its n items, p are
    relevant, and the first of these is at place j of the group with probability C(n - j, p - 1) / C(n, p) [McSherry
    and Najork 2008]. With ``@k`` a first relevant item after rank k scores 0.
    """
    groups = Groups.of(histogram)
    first = np.arange(len(groups.n)), (groups.p > 0).argmax(axis=1)
    before = groups.n_before[first]
    n = groups.n[first]
    p = groups.p[first]
    last = np.minimum(groups.inside(groups.ranks(name.cutoff))[first], n - p + 1)
    # the probabilities fall from p / n by the factors (n - p - j + 1) / (n - j)
    value = np.zeros(len(n))
    chance = p / np.maximum(n, 1)
    start = 0
    left = np.flatnonzero((last > 0) & (chance > NEGLIGIBLE))  # the queries whose sum is not finished
    while len(left):
        j = np.arange(start + 1, start + RANKS + 1)
        size = n[left, None]
        relevant = p[left, None]
        falls = np.cumprod(np.maximum(size - relevant - j + 1, 0) / np.maximum(size - j, 1), axis=1)
        chances = chance[left, None] * np.concatenate([np.ones((len(falls), 1)), falls], axis=1)
        terms = chances[:, :-1] / (before[left, None] + j)
        value[left] += np.where(j <= last[left, None], terms, 0.0).sum(axis=1)
        chance[left] = chances[:, -1]
        start += RANKS
        left = left[(last[left] > start) & (chance[left] > NEGLIGIBLE)]
    return value


METRIC = Metric(
    summary="reciprocal rank of the first relevant item (its mean is the MRR), expected over the orders of tied items",
    paper="mcsherry2008computing",
    evaluate=evaluate,
    cutoffs=("rank",),
)
