"""Curves of mean precision and mean recall, by Hamming radius and by rank, as arrays."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hashbench.foundation.errors import HashbenchError
from hashbench.histogram.counts import Floats, Histogram, Ints

N_RANKS = 1000  # the last rank of a precision at N curve
NO_QUERY = "curves: no query has a relevant item, so there is nothing to average"


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
    """The curves over Hamming radii; raises HashbenchError when no query has a relevant item."""
    kept = histogram.n_relevant > 0
    if not kept.any():
        raise HashbenchError(NO_QUERY)
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
    """
    precision, recall, n_kept = np.zeros(0), np.zeros(0), 0
    for block in [rankings] if isinstance(rankings, Histogram) else rankings:
        for items, relevant in zip(block.at_distance, block.relevant, strict=True):
            held = items > 0
            ends, until = (np.concatenate([[0], counts[held].cumsum()]) for counts in (items, relevant))
            ranks = np.arange(1, min(n, int(ends[-1])) + 1)
            if n_kept == 0:
                precision, recall = np.zeros(len(ranks)), np.zeros(len(ranks))
            if relevant.any():
                found = np.interp(ranks, ends, until)
                precision += found / ranks
                recall += found / relevant.sum()
                n_kept += 1
    if n_kept == 0:
        raise HashbenchError(NO_QUERY)
    return RankCurve(np.arange(1, len(precision) + 1), precision / n_kept, recall / n_kept)
