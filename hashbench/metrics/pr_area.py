"""The area under the curve of mean precision against mean recall."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._groups import Groups, share
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """The share of each query in the area under mean precision against mean recall, float64[q].

    The curve has one point for each Hamming radius d = 0 .. bits: the means, over the queries with a relevant item,
    of recall@rd and precision@rd (a query that retrieves nothing has precision 0). Its area by the trapezoidal rule,
    the first point being extended to recall 0, is linear in the mean recall. So the area under each query's own
    recall and the mean precision is a value per query whose mean is the area: here alone a value depends on the other
    queries. With ``@k`` a query's point at radius d covers the first min(N_d, k) ranks, the tie that rank k cuts
    counting in proportion, and the curve ends at the mean recall of k ranks.

    One query, relevant items at distances 0 and 1, another item beside the second: 1/2 x 1 + 1/2 x (1 + 2/3) / 2.

    >>> evaluate(Histogram(np.array([[[0, 1], [1, 1]]]), np.array([0, 1])), MetricName("pr_area")).round(6)
    array([0.916667])
    """
    groups = Groups.of(histogram)
    inside = groups.inside(groups.ranks(name.at))
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
    at=("rank",),
    over_radii=True,
    together=True,
)
