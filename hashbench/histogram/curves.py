"""Curves of mean precision and mean recall, by Hamming radius and by rank, as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.histogram.counts import Histogram

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

N_RANKS = 1000  # the last rank of a precision at N curve


@dataclass(frozen=True)
class RadiusCurve:
    """Means over the queries with a relevant item at each Hamming radius, all arrays [bits + 1].

    ``precision`` against ``recall`` is the precision-recall curve. A query that retrieves nothing has precision 0.
    """

    radius: Ints  # 0 .. bits
    precision: Floats
    recall: Floats
    retrieved: Floats  # mean number of items inside the radius
    empty: Floats  # share of queries with nothing inside it


@dataclass(frozen=True)
class RankCurve:
    """Means over the queries with a relevant item of the first n ranks, expected over tied orders, all arrays [n]."""

    n: Ints  # 1, 2, ...
    precision: Floats
    recall: Floats


def radius_curve(histogram: Histogram) -> RadiusCurve:
    """The curves over Hamming radii; raises HashbenchError when no query has a relevant item.

    >>> curve = radius_curve(Histogram(np.array([[[0, 1], [1, 1]]]), np.array([0, 1])))
    >>> curve.recall, curve.retrieved
    (array([0.5, 1. ]), array([1., 3.]))
    """
    kept = histogram.n_relevant > 0
    _require(int(kept.sum()))
    retrieved = histogram.at_distance[kept].cumsum(axis=1)
    found = histogram.relevant[kept].cumsum(axis=1)
    return RadiusCurve(
        radius=np.arange(histogram.n_bits + 1),
        precision=(found / np.maximum(retrieved, 1)).mean(axis=0),
        recall=(found / found[:, -1:]).mean(axis=0),
        retrieved=retrieved.mean(axis=0),
        empty=(retrieved == 0).mean(axis=0),
    )


def rank_curve(rankings: Histogram | Iterable[Histogram], n: int = N_RANKS) -> RankCurve:
    """The curves over the first 1 .. ``n`` ranks, or as many as the database has.

    ``rankings`` is a histogram, or the blocks of one under a tie policy. Inside a tie group the expected number of
    relevant items grows in proportion to the ranks. Raises HashbenchError when no query has a relevant item.

    >>> rank_curve(Histogram(np.array([[[1, 1]]]), np.array([0, 1])), 2).precision
    array([0.5, 0.5])
    """
    precision, recall, n_kept = np.zeros(0), np.zeros(0), 0
    for block in [rankings] if isinstance(rankings, Histogram) else rankings:
        for items, relevant in zip(block.at_distance, block.relevant, strict=True):
            found = _found(items, relevant, n)
            if n_kept == 0:
                precision, recall = np.zeros(len(found)), np.zeros(len(found))
            if relevant.any():
                precision += found / np.arange(1, len(found) + 1)
                recall += found / relevant.sum()
                n_kept += 1
    _require(n_kept)
    return RankCurve(np.arange(1, len(precision) + 1), precision / n_kept, recall / n_kept)


def _found(items: Ints, relevant: Ints, n: int) -> Floats:
    """The expected number of relevant items among the first 1 .. n ranks of one query."""
    held = items > 0
    ends, found = (np.concatenate([[0], counts[held].cumsum()]) for counts in (items, relevant))
    return np.interp(np.arange(1, min(n, int(ends[-1])) + 1), ends, found)


def _require(n_queries: int) -> None:
    if n_queries == 0:
        raise HashbenchError("curves: no query has a relevant item, so there is nothing to average")
