"""Tie-aware reciprocal rank of the first relevant item."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._groups import Groups, Ints
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName

RANKS = 64  # ranks of the first group that are added at a time
NEGLIGIBLE = 1e-30  # a probability below it, and all smaller ones after it, change no digit of the sum

Floats = NDArray[np.float64]


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """1 / (the rank of the first relevant item) of each query, float64[q]: its mean over all orders of the tied items.

    The mean over the queries is the MRR. Only the first group with a relevant item matters: of its n items, p are
    relevant, and the first of these is at place j of the group with probability C(n - j, p - 1) / C(n, p) [McSherry
    and Najork 2008]. With ``@k`` a first relevant item after rank k scores 0.

    Two items tie at distance 0 and one of them is relevant: rank 1 or 2, so 3/4 on average.

    >>> evaluate(Histogram(np.array([[[1, 1]]]), np.array([0, 1])), MetricName("mrr"))
    array([0.75])
    """
    groups = Groups.of(histogram)
    first = (groups.p > 0).argmax(axis=1)[:, None]
    inside = groups.inside(groups.ranks(name.cutoff))
    before, n, p, m = (
        np.take_along_axis(each, first, axis=1)[:, 0] for each in (groups.n_before, groups.n, groups.p, inside)
    )
    return _mean_reciprocal(before, n, p, np.minimum(m, n - p + 1))


def _mean_reciprocal(before: Ints, n: Ints, p: Ints, last: Ints) -> Floats:
    """The sum over j = 1 .. last of P(the first relevant item is at place j) / (before + j), float64[q].

    The probabilities fall from p / n by the factors (n - p - j + 1) / (n - j).
    """
    value, chance = np.zeros(len(n)), p / np.maximum(n, 1)
    open_queries, start = np.arange(len(n)), 0
    while len(open_queries := open_queries[(last > start)[open_queries] & (chance > NEGLIGIBLE)[open_queries]]):
        j = np.arange(start + 1, start + RANKS + 1)
        size, relevant = n[open_queries, None], p[open_queries, None]
        falls = np.cumprod(np.maximum(size - relevant - j + 1, 0) / np.maximum(size - j, 1), axis=1)
        chances = chance[open_queries, None] * np.concatenate([np.ones((len(falls), 1)), falls], axis=1)
        terms = chances[:, :-1] / (before[open_queries, None] + j)
        value[open_queries] += np.where(j <= last[open_queries, None], terms, 0.0).sum(axis=1)
        chance[open_queries] = chances[:, -1]
        start += RANKS
    return value


METRIC = Metric(
    summary="reciprocal rank of the first relevant item (its mean is the MRR), expected over the orders of tied items",
    paper="mcsherry2008computing",
    evaluate=evaluate,
    cutoffs=("rank",),
)
