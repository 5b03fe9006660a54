"""The values that scikit-learn's metrics return for minus the distances, one query at a time.

- ``average_precision_score`` has one threshold for each tie group: all relevant items of a group get the precision at
  the end of the group. That is not the mean over the orders of tied items, and no single order has this value.
- ``ndcg_score`` is the mean over the orders of tied items, with the level itself as gain, not 2^v - 1. It refuses a
  database of one item. ``cutoff`` is its k.
- A query without relevant items scores 0 in both (the first with a warning) and is counted.
"""

import numpy as np

from hashbench.scoring.codes import Codes
from hashbench.scoring.evaluation.conventions import Convention, ConventionValue, Values, mean, with_cutoff
from hashbench.scoring.histogram import count
from hashbench.scoring.metrics import Cutoff
from hashbench.scoring.metrics.ndcg import of_gains
from hashbench.scoring.relevance.labels import Relevance


def evaluate(query: Codes, database: Codes, relevance: Relevance, *, cutoff: int | None = None) -> Values:
    """average_precision_score, which has no cutoff, and ndcg_score, by name."""
    histogram = count(query, database, relevance)
    n = histogram.at_distance
    p = histogram.relevant
    precision = p.cumsum(axis=1) / np.maximum(n.cumsum(axis=1), 1)
    average = (p * precision).sum(axis=1) / np.maximum(histogram.n_relevant, 1)  # sum_d (n_d^+ / N^+) (N_d^+ / N_d)
    ranks = None if cutoff is None else Cutoff("rank", cutoff)
    ndcg = None
    if len(database) > 1:
        ndcg = mean(of_gains(histogram, histogram.levels.astype(np.float64), ranks))
    return {
        "average_precision_score": ConventionValue(mean(average)),
        with_cutoff("ndcg_score", cutoff): ConventionValue(ndcg),
    }


CONVENTION = Convention(
    summary="average_precision_score (one threshold a tie group) and ndcg_score (tie-averaged, linear gain)",
    source="scikit-learn/scikit-learn, sklearn/metrics/_ranking.py",
    evaluate=evaluate,
)
