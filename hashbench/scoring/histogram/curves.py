"""Curves by Hamming radius and by rank: means over the queries with a relevant item, and shares of all pairs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.histogram.counts import Histogram, Ints

N_RANKS = 1000  # the last rank of a precision at N curve
NO_QUERY = "curves: no query has a relevant item, so there is nothing to average"

Curve = dict[str, NDArray[np.float64] | Ints]


def radius_curve(histogram: Histogram) -> Curve:
    """Means at each Hamming ``radius`` 0 .. bits; raises HashbenchError when no query has a relevant item.

    ``precision`` counts a query that retrieves nothing as 0, as precision@rR does; ``precision_of_found`` is the mean
    over the queries that retrieve something, NaN where none does. ``retrieved`` is the number of items inside the
    radius, ``empty`` the share of queries with nothing inside it.
    """
    kept = histogram.n_relevant > 0
    if not kept.any():
        raise HashbenchError(NO_QUERY)
    retrieved = histogram.at_distance[kept].cumsum(axis=1)
    relevant = histogram.relevant[kept].cumsum(axis=1)
    precision = relevant / np.maximum(retrieved, 1)
    return {
        "radius": np.arange(histogram.n_bits + 1),
        "precision": precision.mean(axis=0),
        "precision_of_found": shares(precision.sum(axis=0), (retrieved > 0).sum(axis=0)),
        "recall": (relevant / relevant[:, -1:]).mean(axis=0),
        "retrieved": retrieved.mean(axis=0),
        "empty": (retrieved == 0).mean(axis=0),
    }


def rank_curve(histogram: Histogram, most: int = N_RANKS) -> Curve:
    """Mean ``precision`` and ``recall`` of the first ``n`` = 1 .. ``most`` ranks, or as many as the database has.

    They are expected over the orders of tied items: inside a tie group the expected number of relevant items grows in
    proportion to the ranks. Raises HashbenchError when no query has a relevant item.
    """
    kept = histogram.n_relevant > 0
    if not kept.any():
        raise HashbenchError(NO_QUERY)
    items = histogram.at_distance[kept]
    relevant = histogram.relevant[kept]
    last = min(most, int(items[0].sum()))
    after = np.minimum(items.cumsum(axis=1), last)
    before = np.concatenate([np.zeros_like(after[:, :1]), after[:, :-1]], axis=1)
    rate = relevant / np.maximum(items, 1)  # of relevant items to ranks inside a tie group

    def mean_relevant(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        # summed over queries, the rate at a rank changes only where a tie group begins or ends
        begin = np.bincount(before.ravel(), weights.ravel(), last + 1)
        end = np.bincount(after.ravel(), weights.ravel(), last + 1)
        return (begin - end)[:last].cumsum().cumsum() / len(items)

    n = np.arange(1, last + 1)
    recall = mean_relevant(rate / relevant.sum(axis=1, keepdims=True))
    return {"n": n, "precision": mean_relevant(rate) / n, "recall": recall}


def pair_curve(histogram: Histogram) -> Curve:
    """Shares of all pairs of a query and an item, those within each Hamming ``radius`` 0 .. bits taken for relevant.

    ``found`` pairs lie within the radius, ``relevant`` ones of them are relevant. ``precision`` is NaN where nothing is
    found, ``false_positive_rate`` where every pair is relevant. Queries without a relevant item count too. Raises
    HashbenchError when no pair is relevant.
    """
    within = histogram.at_distance.sum(axis=0).cumsum()
    relevant = histogram.relevant.sum(axis=0).cumsum()
    n_relevant = relevant[-1]
    if not n_relevant:
        raise HashbenchError("pairs: no pair of a query and an item is relevant")
    others = within - relevant
    return {
        "radius": np.arange(histogram.n_bits + 1),
        "found": within,
        "relevant": relevant,
        "precision": shares(relevant, within),
        "recall": relevant / n_relevant,
        "f1": 2 * relevant / (within + n_relevant),
        "false_positive_rate": shares(others, others[-1]),
    }


def shares(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """``part / whole``, NaN where the whole is 0."""
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def radius_of(precision: float, pairs: Curve) -> int | None:
    """The largest radius of a ``pair_curve`` within which the precision is still so high; None where there is none."""
    enough = np.flatnonzero(pairs["precision"] >= precision)
    if not enough.size:
        return None
    return int(enough[-1])
