"""Relevance by neighbours: the items that are nearest to a query by floats, as a list of ids for each query."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.scoring.relevance.labels import ClassRelevance, GradedRelevance, LabelRelevance, Rows

NONE = -1  # in place of the id of a neighbour: there is none
CHECKED = 1 << 14  # queries whose ids are compared with each other at a time


@dataclass(frozen=True, eq=False)
class NeighbourRelevance:
    """Relevance 1 of the items whose rows are in ``ids`` [q, k] (-1: none), and 0 of all others.

    Recall@m of it is the recall@k of a search that takes the first m items by codes and orders them by the floats: a
    true neighbour among these m items stays among the first k of them.

    >>> near = NeighbourRelevance(np.array([[2, 0], [1, -1]]), n_items=3)
    >>> near.block(slice(0, 2), slice(0, 3))
    array([[1, 0, 1],
           [0, 1, 0]], dtype=uint16)
    """

    ids: NDArray[np.integer]  # each row of the database at most once for a query
    n_items: int

    @property
    def levels(self) -> NDArray[np.int64]:
        """0 and 1."""
        return np.array([0, 1], np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""
        return len(self.ids), self.n_items

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n]."""
        part = NeighbourRelevance(self.ids[queries], self.n_items).part(database)
        level = np.zeros(part.shape, np.uint16)
        level[part.listed()] = 1
        return level

    def pairs(self, queries: Rows, items: Rows) -> NDArray[np.uint16]:
        """The index into ``levels`` of each pair of a query and an item, uint16[n]; both are given as rows [n]."""
        return (self.ids[queries] == items[:, None]).any(axis=1).astype(np.uint16)

    def part(self, database: slice) -> "NeighbourRelevance":
        """The relevance of a piece of the database, whose ids are its own rows."""
        first, end, _ = database.indices(self.n_items)
        inside = (self.ids >= first) & (self.ids < end)
        return NeighbourRelevance(np.where(inside, self.ids - first, NONE), max(0, end - first))

    def listed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of level 1, as rows of queries and rows of items, [pairs] each."""
        queries, columns = np.nonzero(self.ids >= 0)
        return queries, self.ids[queries, columns].astype(np.int64)

    def unlabelled(self) -> ClassRelevance:
        """The relevance of the same shape in which no item is relevant; it is counted without a look at any item."""
        return ClassRelevance(np.full(len(self.ids), NONE), np.zeros(self.n_items, np.int8))

    def are_same(self) -> bool:
        """True: only their codes could tell queries from items."""
        return True

    def without_class(self) -> tuple[int, int]:
        """0 queries and 0 items: neighbours have no classes that could be missing."""
        return 0, 0


PairRelevance: TypeAlias = (
    LabelRelevance | GradedRelevance | NeighbourRelevance
)  # that tells the level of a single pair


def checked_ids(
    name: str, ids: NDArray[Any], n_queries: int, n_items: int, *, complete: bool = False
) -> NDArray[np.int64]:
    """``ids`` as int64[q, k], rows of a database of ``n_items``; raises HashbenchError where they are not.

    A query has an id at most once; -1 stands for none, after the ids, unless the lists must be ``complete``.
    """
    expected = f"the rows of the nearest items of each of the {n_queries:,} queries, whole numbers [{n_queries}, k]"
    if ids.ndim != 2 or ids.dtype.kind not in "ui" or ids.shape[1] == 0:
        raise HashbenchError(f"{name}: {ids.dtype} of shape {ids.shape}: {expected}, are expected")
    if not len(ids) == n_queries > 0:
        raise HashbenchError(f"{name}: ids of {len(ids):,} queries, codes of {n_queries:,}: as many, and at least one")
    if ids.shape[1] > n_items:
        raise HashbenchError(f"{name}: {ids.shape[1]} neighbours of each query, {n_items:,} items: at most one each")
    lowest = 0 if complete else NONE
    is_wrong = (ids >= n_items) | (ids < lowest)
    if is_wrong.any():
        expected = f"the database has rows 0 to {n_items - 1}"
        if not complete:
            expected += "; -1 is none"
        raise HashbenchError(f"{name}: there is no row {ids[is_wrong][0]}: {expected}")
    whole = ids.astype(np.int64)
    for rows in slices(n_queries, CHECKED):
        _check_queries(name, whole[rows], rows.start)
    return whole


def _check_queries(name: str, ids: NDArray[np.int64], first: int) -> None:
    """Raises HashbenchError where a query, the first of which has the number ``first``, has an id twice or after -1."""
    ordered = np.sort(ids, axis=1)
    is_repeated = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    if is_repeated.any():
        query = int(is_repeated.argmax())
        values, n_times = np.unique(ids[query][ids[query] >= 0], return_counts=True)
        twice = values[n_times > 1][0]
        raise HashbenchError(
            f"{name}: query {first + query} has the neighbour {twice} more than once: once is expected"
        )
    has_gap = ((ids[:, 1:] >= 0) & (ids[:, :-1] < 0)).any(axis=1)
    if has_gap.any():
        query = first + int(has_gap.argmax())
        raise HashbenchError(f"{name}: query {query} has a neighbour after -1: -1 is none, and stands at the end only")


def default_metrics(k: int) -> tuple[str, ...]:
    """Recall of the ``k`` neighbours among the first k items, and among 2, 4 and 10 times as many candidates."""
    return tuple(f"recall@{factor * k}" for factor in (1, 2, 4, 10))
