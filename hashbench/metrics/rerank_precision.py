"""Precision of the candidates of a bucket search, ranked by the distance between embeddings."""

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram.retrieval import CUTOFFS, Retrieval
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName


def evaluate(retrieval: Retrieval, name: MetricName) -> NDArray[np.float64]:
    """The relevant share of the K nearest candidates, float64[q]: Pr@K [Jeong and Song 2018, section 6].

    Candidates are ranked by their distance in the base embedding; at equal distance the lower item number comes first.
    A query without a relevant item scores 0 and counts. If the database has fewer than K items, K is their number.

    >>> from hashbench.histogram.retrieval import Reranked
    >>> reranked = {k: Reranked(np.arange(k)[None] < 3, np.array([k])) for k in (1, 4, 16)}
    >>> evaluate(Retrieval(100, reranked), MetricName.read("rerank_precision@4"))
    array([0.75])
    """
    return retrieval.reranked[METRIC.rank(name)].relevant.mean(axis=1)


METRIC = Metric(
    summary="relevant share of the K nearest among the candidates",
    paper="jeong2018efficient",
    source=Retrieval,
    evaluate=evaluate,
    cutoffs=("rank",),
    cutoff_required=True,
    ranks=CUTOFFS,
)
