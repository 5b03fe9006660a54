"""Tie-aware normalised discounted cumulative gain."""

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError
from hashbench.histogram import Histogram
from hashbench.metrics._groups import Counts, Groups
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import At, MetricName
from hashbench.metrics._prefix import PrefixSums, discount

MAX_LEVEL = 1000  # 2^1024 is no float64, and sums of gains need room


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """The NDCG of each query, float64[q], expected over all orders of the tied items.

    DCG_T = sum_d (mean gain of group d) x (sum of the discounts of its ranks), over the DCG of the ideal order
    [He et al. 2018, eqs. 4 and 7]; gain 2^v - 1 of the level's value v, discount 1 / log2(t + 1). With ``@k`` ranks
    beyond k have no discount, in the ideal order as well (eq. 20).

    One tied pair, one of them relevant: mean gain 1/2 times (1 + 1/log2 3), over an ideal of 1.

    >>> evaluate(Histogram(np.array([[[1, 1]]]), np.array([0, 1])), MetricName("ndcg")).round(6)
    array([0.815465])
    """
    return of_gains(histogram, _gains(histogram.levels), name.at)


def of_gains(histogram: Histogram, gains: NDArray[np.float64], at: At | None) -> NDArray[np.float64]:
    """The NDCG of each query where a level has the gain ``gains`` [v], float64[q]; 0 where no item has a gain."""
    groups = Groups.of(histogram)
    ranks = groups.ranks(at)
    discounts = discount(int(ranks.max(initial=0)))
    mean_gain = (histogram.counts @ gains) / np.maximum(groups.n, 1)
    inside = groups.inside(ranks)
    start = np.minimum(groups.n_before, ranks[:, None])
    dcg = (mean_gain * discounts.between(start, start + inside)).sum(axis=1)
    ideal = _ideal(histogram.counts.sum(axis=1), gains, ranks, discounts)
    return dcg / np.where(ideal > 0, ideal, 1.0)


def _gains(levels: NDArray[np.int64]) -> NDArray[np.float64]:
    """2^v - 1 in float64: level 10 is 1023, and the larger ones leave every integer type soon."""
    if levels.max() > MAX_LEVEL:
        raise HashbenchError(
            f"ndcg: level {levels.max()} has a gain of 2^{levels.max()}; up to {MAX_LEVEL} is possible"
        )
    return np.exp2(levels.astype(np.float64)) - 1.0


def _ideal(n_level: Counts, gains: NDArray[np.float64], ranks: Counts, discounts: PrefixSums) -> NDArray[np.float64]:
    """The DCG of the best order, float64[q], by counting: the items of a level [q, v] take consecutive ranks."""
    descending = n_level[:, ::-1]
    stop = descending.cumsum(axis=1)
    start, stop = (np.minimum(edge, ranks[:, None]) for edge in (stop - descending, stop))
    return discounts.between(start, stop) @ gains[::-1]


METRIC = Metric(
    summary="normalised discounted cumulative gain, gain 2^v - 1, expected over the orders of tied items",
    paper="he2018tieaware",
    evaluate=evaluate,
    at=("rank",),
)
