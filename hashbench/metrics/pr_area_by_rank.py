"""The area under the curve of mean precision against mean recall, with one point for each rank."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._groups import Groups
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName

Floats = NDArray[np.float64]


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """A value for each query, float64[q], whose mean is the area under mean precision against mean recall.

    The curve has one point for each rank k = 1 .. K: the means, over the queries with a relevant item, of recall@k and
    precision@k. The first point is extended to recall 0. The area by the trapezoidal rule is linear in the mean recall,
    so it is the mean over the queries of the area under (recall of the query, mean precision). Unlike ``pr_area`` it
    needs no Hamming radius, so it is defined for every ranking. K is the cutoff, or the size of the database.

    One query: a relevant item at distance 0, a relevant and another item at distance 1. The means over the orders of
    the tie are: precision 1, 3/4, 2/3 and recall 1/2, 3/4, 1. The area is 1/2 x 1 + 1/4 x 7/8 + 1/4 x 17/24.

    >>> evaluate(Histogram(np.array([[[0, 1], [1, 1]]]), np.array([0, 1])), MetricName("pr_area_by_rank")).round(6)
    array([0.895833])
    """
    groups = Groups.of(histogram)
    most = int(groups.ranks(name.cutoff).max(initial=0))
    some = np.flatnonzero(groups.n_relevant).tolist()
    precision = (
        sum((_found(groups, q, most) for q in some), np.zeros(most)) / np.arange(1, most + 1) / max(len(some), 1)
    )
    middle = (precision + np.concatenate([precision[:1], precision[:-1]])) / 2
    values = np.zeros(histogram.n_queries)
    for q in some:
        values[q] = np.diff(_found(groups, q, most), prepend=0.0) @ middle / groups.n_relevant[q]
    return values


def _found(groups: Groups, query: int, most: int) -> Floats:
    """The expected relevant items among the first k ranks, float64[most] for k = 1 .. most.

    It is linear in k inside a tie group.
    """
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
