"""The values that the evaluation code of TALR prints; that of MIHash prints the same under other names.

``AP`` with its bounds:

- divided by the relevant items among the first k (all of them without a cutoff); k is at most the database;
- the sum runs over increments of recall, the first of which is 0: a relevant item at rank 1 adds nothing;
- ties in database order (called random there); the bounds have the relevant items first or last in every tie;
- a query without relevant items among the first k scores 0 and is counted.

``tieAP`` is the exact tie-aware AP of the whole ranking, whatever the cutoff. Queries without relevant items count 0,
except those after the last query that has one: that code's vector of values never grows to hold them.

``tieNDCG`` is tie-aware, of the whole ranking. Levels are int8, so that 2^v saturates at 127 and every level from 7 on
has gain 126; a query without relevant items scores 1 and is counted. That code divides in float32.
"""

import numpy as np
from numpy.typing import NDArray

from hashbench.scoring import metrics
from hashbench.scoring.codes import Codes
from hashbench.scoring.evaluation.conventions import Convention, ConventionValue, Values, mean, with_cutoff
from hashbench.scoring.histogram import count, ranking, ties
from hashbench.scoring.histogram.ties import Policy
from hashbench.scoring.metrics import Metrics, NamedMetric
from hashbench.scoring.metrics.ndcg import of_gains
from hashbench.scoring.relevance.labels import Relevance

INT8_MAX = 127
BOUNDS: dict[str, Policy] = {"AP": "order", "AP upper bound": "best", "AP lower bound": "worst"}


def evaluate(query: Codes, database: Codes, relevance: Relevance, *, cutoff: int | None = None) -> Values:
    """AP in database order and its bounds, with the cutoff in their names, then tieAP and tieNDCG."""
    histogram = count(query, database, relevance)
    ranks = min(cutoff or len(database), len(database))
    has_one = histogram.n_relevant > 0
    wanted = [NamedMetric.at("precision", 1), NamedMetric.at("recall", ranks)]
    wanted = [NamedMetric.at("ap", ranks, norm="retrieved"), *wanted]
    printed = {}
    for name, policy in BOUNDS.items():
        in_order = ties.in_order(ranking.hamming(query, database), relevance)
        ordered = in_order if policy == "order" else [ties.apply(histogram, policy)]
        average, at_first, recall = metrics.evaluate(ordered, Metrics(wanted)).values()
        # the term of rank 1: its precision, 1 or 0, divided by the relevant items retrieved
        lost = at_first / np.maximum(np.nan_to_num(recall) * histogram.n_relevant, 1)
        printed[with_cutoff(name, cutoff)] = ConventionValue(mean(np.nan_to_num(average - lost)))
    (average,) = metrics.evaluate(histogram, Metrics([NamedMetric.at("ap")])).values()
    last = np.flatnonzero(has_one).max(initial=-1)
    printed["tieAP"] = ConventionValue(mean(np.nan_to_num(average[: last + 1])))
    ndcg = np.where(has_one, of_gains(histogram, gains_of(histogram.levels)), 1.0)
    printed["tieNDCG"] = ConventionValue(mean(ndcg))
    return printed


def gains_of(levels: NDArray[np.int64]) -> NDArray[np.float64]:
    """The gain of each level, float64[v]: 2^v - 1, computed in int8, so 126 for every level from 7 on.

    >>> gains_of(np.array([0, 1, 2, 5, 10]))
    array([  0.,   1.,   3.,  31., 126.])
    """
    return np.minimum(np.exp2(np.minimum(levels, 8).astype(np.float64)), INT8_MAX) - 1


CONVENTION = Convention(
    summary="AP over the relevant retrieved without the term of rank 1, ties in database order; tieAP; int8 tieNDCG",
    source="kunhe/TALR, +eval/AP.m, tieAP.m, tieNDCG.m",
    evaluate=evaluate,
)
