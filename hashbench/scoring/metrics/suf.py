"""The speed-up of a bucket search over exhaustive search, in items."""

import math

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.histogram.retrieval import CUTOFFS, Retrieval
from hashbench.scoring.metrics._formula import Floats, Metric, MetricName


def evaluate(retrieval: Retrieval, name: MetricName) -> Floats:
    """The number of items divided by the mean number of candidates of a query, float64[]; NaN without queries.

    Exhaustive search has 1. ``suf@K`` is the speed-up of the search for the nearest K, in which a query opens more
    buckets until they hold K items; ``suf`` is ``suf@1``. It counts items and says nothing about seconds
    [Jeong and Song 2018, section 6].
    """
    if retrieval.n_queries == 0:
        return np.array(np.nan)
    return np.array(speed_up(retrieval.reranked[METRIC.rank(name)].n_candidates, retrieval.n_items))


def speed_up(n_candidates: NDArray[np.integer], n_items: int) -> float:
    """``n_items`` divided by the mean of ``n_candidates`` [q], the items compared with a query [Jeong and Song 2018].

    Not the mean of ``n_items / n_candidates``, infinite without a candidate. HashbenchError if no query has one.
    """
    total = int(n_candidates.sum(dtype=np.int64))
    if total == 0:
        raise HashbenchError("speed-up: nothing was retrieved, so there is nothing to compare with the whole")
    return n_items * len(n_candidates) / total


METRIC = Metric(
    summary="speed-up: items over mean candidates of a query, in a search for the nearest K (default 1)",
    paper="jeong2018efficient",
    source=Retrieval,
    evaluate=evaluate,
    cutoffs=("rank",),
    ranks=CUTOFFS,
    maximum=math.inf,
)
