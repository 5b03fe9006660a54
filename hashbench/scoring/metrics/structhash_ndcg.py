"""The NDCG as the StructHash paper defines it."""

from functools import lru_cache

import numpy as np

from hashbench.scoring.metrics._formula import Floats, Groups, Histogram, Metric, MetricName, PrefixSums, share


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """The NDCG@K of Lin et al. 2014, eq. 21, float64[q]: its mean over all orders of the tied items.

    Relevance is binary, S(1) = 1 and S(i) = 1 / log2(i), and the sum over the relevant ranks up to K is divided by
    sum_{i<=K} S(i), not by the ideal order: a query with fewer than K relevant items cannot reach 1.
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    scores = _scores(max(int(ranks.max(initial=0)), 1))
    start = np.minimum(groups.n_before, ranks[:, None])
    gained = share(groups.p, groups.n) * scores.between(start, start + groups.inside(ranks))
    return gained.sum(axis=1) / scores.between(np.zeros_like(ranks), np.maximum(ranks, 1))


@lru_cache(maxsize=4)
def _scores(n: int) -> PrefixSums:
    """Prefix sums of S(i) = 1 / log2(i), S(1) = 1, for ``n`` ranks."""
    return PrefixSums.of(lambda t: 1.0 / np.log2(np.maximum(t, 2)), n)


METRIC = Metric(
    summary="NDCG as StructHash defines it: binary, S(i) = 1/log2(i), over sum S(i); expected over tied orders",
    paper="lin2014optimizing",
    evaluate=evaluate,
    cutoffs=("rank",),
    cutoff_required=True,
)
