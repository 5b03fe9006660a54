"""The area under the curve of mean precision against mean recall."""

import numpy as np

from hashbench.scoring.metrics._formula import Floats, Groups, Histogram, Metric, MetricName


def evaluate(histogram: Histogram, name: MetricName) -> Floats:
    """A value for each query, float64[q], whose mean is the area under mean precision against mean recall.

    The curve has one point for each Hamming radius d = 0 .. bits: the means, over the queries with a relevant item, of
    recall@rd and precision@rd (0 for a query that retrieves nothing). The first point is extended to recall 0. The area
    by the trapezoidal rule is linear in the mean recall, so it is the mean over the queries of the area under (recall
    of the query, mean precision). With ``@k`` the point of a query at radius d covers the first min(N_d, k) ranks, and
    the curve ends at the mean recall of the first k ranks.

    One query, two relevant items, the last tied with another item: the area is 1/2 x 1 + 1/2 x (1 + 2/3) / 2.

    >>> evaluate(Histogram(np.array([[[0, 1], [1, 1]]]), np.array([0, 1])), MetricName("pr_area")).round(6)
    array([0.916667])
    """
    groups = Groups.of(histogram)
    ranks = groups.ranks(name.cutoff)
    n_retrieved = groups.inside(ranks).cumsum(axis=1)
    relevant = groups.retrieved(ranks).cumsum(axis=1)
    counted = groups.n_relevant > 0
    precision = (relevant / np.maximum(n_retrieved, 1))[counted].sum(axis=0) / max(int(counted.sum()), 1)
    gained = np.diff(relevant, axis=1, prepend=0.0) / np.maximum(groups.n_relevant, 1)[:, None]
    return gained @ middles(precision)


def middles(precision: Floats) -> Floats:
    """The mean of each point of a curve and the point before it; the first one is extended to recall 0."""
    return (precision + np.concatenate([precision[:1], precision[:-1]])) / 2


METRIC = Metric(
    summary="area under mean precision against mean recall, one point a Hamming radius; with @k of the first k ranks",
    paper="lin2014optimizing",
    evaluate=evaluate,
    cutoffs=("rank",),
    over_radii=True,
    needs_all_queries=True,
)
