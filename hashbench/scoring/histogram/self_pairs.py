"""Leaves queries out of their own rankings, where queries are items of the database."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import Codes
from hashbench.scoring.histogram.counts import Histogram, Ints
from hashbench.scoring.relevance.labels import Relevance
from hashbench.scoring.relevance.neighbours import PairRelevance

OWN_ROWS = 1 << 8  # items whose relevance to themselves is read at a time


def is_same(query: Codes, database: Codes, relevance: PairRelevance) -> bool:
    """True where the database is the queries, in their order: equal codes and labels."""
    return np.array_equal(query.words, database.words) and relevance.are_same()


def left_out(counted: Histogram, query: Codes, database: Codes, relevance: PairRelevance, own_rows: Ints) -> Histogram:
    """The histogram ``counted`` without the pair of each query and its own item; ``own_rows`` [q] are rows, -1 none."""
    queries = np.flatnonzero(own_rows >= 0)
    items = own_rows[queries]
    differing = np.bitwise_count(query.words[queries] ^ database.words[items])
    return _without(counted, queries, differing.sum(axis=1, dtype=np.int64), relevance.pairs(queries, items))


def without_itself(counted: Histogram, relevance: Relevance) -> Histogram:
    """The histogram of a set against itself without the pairs of an item with itself; HashbenchError for any other."""
    n = counted.n_queries
    if relevance.shape == (n, n) and np.array_equal(relevance.levels, counted.levels):
        level = np.zeros(n, np.int64)
        for rows in slices(n, OWN_ROWS):
            level[rows] = relevance.block(rows, rows).diagonal()
        others = _without(counted, np.arange(n), 0, level)
        if (others.counts[:, 0] >= 0).all() and (others.counts.sum(axis=(1, 2)) == n - 1).all():
            return others
    raise HashbenchError(
        f"a histogram of {n} queries, a relevance of {relevance.shape}: no set against itself, for an item is not "
        "at distance 0 from itself with its own level, or levels or numbers differ"
    )


def _without(counted: Histogram, queries: Ints, distance: Ints | int, level: NDArray[np.integer]) -> Histogram:
    """The histogram with one item fewer for each of ``queries``, at its ``distance`` and its ``level``."""
    counts = counted.counts.copy()
    counts[queries, distance, level] -= 1
    return replace(counted, counts=counts)


def checked_rows(name: str, rows: NDArray[Any], n_queries: int, n_items: int) -> Ints:
    """``rows`` as int64[q], the row of each query in a database or -1; raises HashbenchError where they are not."""
    if rows.shape != (n_queries,) or rows.dtype.kind not in "ui":
        expected = f"the database row of each of the {n_queries} queries is expected, -1 for a query that is no item"
        raise HashbenchError(f"{name}: {rows.dtype} of shape {rows.shape}: {expected}")
    if rows.size and (rows.max() >= n_items or rows.min() < -1):
        wrong = rows[(rows >= n_items) | (rows < -1)][0]
        raise HashbenchError(f"{name}: there is no row {wrong}: the database has rows 0 to {n_items - 1}; -1 is none")
    return rows.astype(np.int64)
