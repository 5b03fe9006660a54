"""Relevance by labels: two items are relevant to each other where they share a class or labels."""

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError

Labels = NDArray[np.integer]
Rows = NDArray[np.integer]


class Relevance(Protocol):
    """The relevance of each database item to each query, block by block: the full matrix is never built."""

    @property
    def levels(self) -> NDArray[np.int64]:
        """The possible relevance values, ascending; levels[0] = 0 means not relevant."""

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n], for those queries and those database items."""


@dataclass(frozen=True)
class _OfLabels:
    query_labels: Labels
    database_labels: Labels

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""
        return len(self.query_labels), len(self.database_labels)

    def are_same(self) -> bool:
        """True where the queries have the labels of the items, in their order."""
        return np.array_equal(self.query_labels, self.database_labels)


@dataclass(frozen=True)
class ClassRelevance(_OfLabels):
    """Relevance 1 where two class ids are equal, else 0; a negative id is no class and equals none."""

    @property
    def levels(self) -> NDArray[np.int64]:
        """0 and 1."""
        return np.array([0, 1], np.int64)

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n]."""
        query = self.query_labels[queries, None]
        return ((query == self.database_labels[None, database]) & (query >= 0)).astype(np.uint16)

    def pairs(self, queries: Rows, items: Rows) -> NDArray[np.uint16]:
        """The index into ``levels`` of each pair of a query and an item, uint16[n]; both are given as rows [n]."""
        query = self.query_labels[queries]
        return ((query == self.database_labels[items]) & (query >= 0)).astype(np.uint16)

    def without_class(self) -> tuple[int, int]:
        """The number of queries and of database items that have no class."""
        return int((self.query_labels < 0).sum()), int((self.database_labels < 0).sum())


@dataclass(frozen=True)
class SharedLabelRelevance(_OfLabels):
    """Relevance is the number of labels that two items share; labels are multi-hot rows, [n, labels] of 0 and 1."""

    @property
    def levels(self) -> NDArray[np.int64]:
        """0, 1, ... up to the largest number of labels that a query and an item could share."""
        most = min(int(labels.sum(axis=1).max(initial=0)) for labels in (self.query_labels, self.database_labels))
        return np.arange(max(most, 1) + 1, dtype=np.int64)

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n]."""
        # float32 goes through BLAS, exact below 2^24; BLAS may flag an invalid value over the padding of its buffers
        query = self.query_labels[queries].astype(np.float32)
        items = self.database_labels[database].astype(np.float32)
        with np.errstate(invalid="ignore"):
            return (query @ items.T).astype(np.uint16)

    def pairs(self, queries: Rows, items: Rows) -> NDArray[np.uint16]:
        """The index into ``levels`` of each pair of a query and an item, uint16[n]; both are given as rows [n]."""
        shared = (self.query_labels[queries] > 0) & (self.database_labels[items] > 0)
        return shared.sum(axis=1).astype(np.uint16)

    def without_class(self) -> tuple[int, int]:
        """The number of queries and of database items that have no label."""
        query, database = ((~labels.any(axis=1)).sum() for labels in (self.query_labels, self.database_labels))
        return int(query), int(database)


@dataclass(frozen=True, eq=False)
class GradedRelevance:
    """Relevance is a level that is given for each query and each class of items, of which there may be one per item."""

    levels: NDArray[np.int64]
    level: NDArray[np.uint16]  # [q, classes + 1], indices into ``levels``; the last is 0, of items without a class
    classes: NDArray[np.int64]  # [n] of the database items, -1 for none

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""
        return len(self.level), len(self.classes)

    def are_same(self) -> bool:
        """True: only their codes could tell queries from items."""
        return True

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n]."""
        return self.level[queries][:, self.classes[database]]

    def pairs(self, queries: Rows, items: Rows) -> NDArray[np.uint16]:
        """The index into ``levels`` of each pair of a query and an item, uint16[n]; both are given as rows [n]."""
        return self.level[queries, self.classes[items]]

    def without_class(self) -> tuple[int, int]:
        """The number of queries without a level above 0, and of database items without a class."""
        return int((~self.level.any(axis=1)).sum()), int((self.classes < 0).sum())


LabelRelevance: TypeAlias = ClassRelevance | SharedLabelRelevance


def class_names(names: NDArray[np.str_]) -> NDArray[np.str_]:
    """The different names of classes among ``names`` [n], sorted; the empty text is none."""
    different = np.unique(names)
    return different[different != ""]


def class_ids(names: NDArray[np.str_], known: NDArray[np.str_]) -> NDArray[np.int64]:
    """The class id of each item, int64[n]: the place of its name among the sorted ``known`` names, -1 without a name.

    A name that is not known gets the id after the last one: no known class is its own.

    >>> class_ids(np.array(["dog", "", "owl"]), np.array(["cat", "dog"])).tolist()
    [1, -1, 2]
    """
    place = np.searchsorted(known, names)
    is_known = place < len(known)
    is_known[is_known] = known[place[is_known]] == names[is_known]
    return np.where(is_known, place, np.where(names == "", -1, len(known))).astype(np.int64)


def from_labels(query_labels: Labels, database_labels: Labels) -> LabelRelevance:
    """The relevance of class ids [n] or of multi-hot labels [n, labels]."""
    if query_labels.ndim == database_labels.ndim == 1:
        return ClassRelevance(query_labels, database_labels)
    if query_labels.ndim == database_labels.ndim == 2 and query_labels.shape[1] == database_labels.shape[1]:
        return SharedLabelRelevance(query_labels, database_labels)
    shapes = f"{query_labels.shape} (query) and {database_labels.shape} (database)"
    expected = "both must be class ids [n] or both multi-hot [n, labels]"
    raise HashbenchError(f"labels of shapes {shapes} do not match: {expected}")
