"""The area under the curve of mean precision against mean recall."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._groups import Groups, share
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """A value for each query, float64[q], whose mean is the area under mean precision against mean recall.

    The curve has one point for each Hamming radius d = 0 .. bits: the means, over the queries with a relevant item,
    of recall@rd and precision@rd (a query that retrieves nothing has precision 0). The first point is extended to
    recall 0. The area by the trapezoidal rule is linear in the mean recall, so it is the mean over the queries of the
    area under (recall of the query, mean precision). This is the only metric whose value for a query depends on the
    other queries. With ``@k`` the point of a query at radius d covers the first min(N_d, k) ranks, a group that
    contains rank k counts in proportion, and the curve ends at the mean recall of the first k ranks.

    One query: a relevant item at distance 0, a relevant and another item at distance 1. The area is
    1/2 x 1 + 1/2 x (1 + 2/3) / 2.

    >>> evaluate(Histogram(np.array([[[0, 1], [1, 1]]]), np.array([0, 1])), MetricName("pr_area")).round(6)
    array([0.916667])
    """
    groups = Groups.of(histogram)
    inside = groups.inside(groups.ranks(name.cutoff))
    retrieved = inside.cumsum(axis=1)
    found = (inside * share(groups.p, groups.n)).cumsum(axis=1)
    some = groups.n_relevant > 0
    precision = (found / np.maximum(retrieved, 1))[some].sum(axis=0) / max(int(some.sum()), 1)
    gained = np.diff(found, axis=1, prepend=0.0) / np.maximum(groups.n_relevant, 1)[:, None]
    middle = (precision + np.concatenate([precision[:1], precision[:-1]])) / 2
    return gained @ middle


METRIC = Metric(
    summary="area under mean precision against mean recall, one point a Hamming radius; with @k of the first k ranks",
    paper="lin2014optimizing",
    evaluate=evaluate,
    cutoffs=("rank",),
    over_radii=True,
    needs_all_queries=True,
)
