"""The area under the curve of mean precision against mean recall, with one point for each rank."""

import numpy as np

from hashbench.scoring.metrics._formula import Floats, Groups, Histogram, Metric, MetricName
from hashbench.scoring.metrics.pr_area import middles


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """A value for each query, float64[q], whose mean is the area under mean precision against mean recall.

    As ``pr_area``, with one point for each rank k = 1 .. K: the means, over the queries with a relevant item, of
    recall@k and precision@k. It needs no Hamming radius, so it is defined for every ranking. K is the cutoff, or the
    size of the database.
    """
    groups = Groups.of(histogram)
    most = int(groups.ranks(name.cutoff).max(initial=0))
    n_relevant = groups.n_relevant
    queries = np.flatnonzero(n_relevant).tolist()
    total = sum((_relevant(groups, q, most) for q in queries), np.zeros(most))
    middle = middles(total / np.arange(1, most + 1) / max(len(queries), 1))
    values = np.zeros(histogram.n_queries)
    for q in queries:
        values[q] = np.diff(_relevant(groups, q, most), prepend=0.0) @ middle / n_relevant[q]
    return values


def _relevant(groups: Groups, query: int, most: int) -> Floats:
    """The expected relevant items among the first k = 1 .. ``most`` ranks; linear in k inside a tie group."""
    ends = np.concatenate([[0], groups.n_before[query] + groups.n[query]])
    relevant = np.concatenate([[0], groups.p_before[query] + groups.p[query]])
    return np.interp(np.arange(1, most + 1), ends, relevant)


METRIC = Metric(
    summary="area under mean precision against mean recall, one point a rank; with @k of the first k ranks",
    paper="lin2014optimizing",
    evaluate=evaluate,
    cutoffs=("rank",),
    needs_all_queries=True,
)
