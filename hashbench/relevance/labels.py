"""Relevance by labels: two items are relevant to each other where they share a class or labels."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError

Labels = NDArray[np.integer]


class Relevance(Protocol):
    """How relevant each database item is to each query, block by block: the full matrix is never built.

    ``levels`` are the possible relevance values, ascending, levels[0] = 0 (not relevant).
    """

    @property
    def levels(self) -> NDArray[np.int64]:
        """The possible relevance values, ascending from 0."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""
        ...

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n], for those queries and those database items."""
        ...


@dataclass(frozen=True)
class ClassRelevance:
    """Relevance 1 where two class ids are equal, else 0; a negative id is no class and equals none."""

    query_labels: Labels
    database_labels: Labels

    @property
    def levels(self) -> NDArray[np.int64]:
        """0 and 1."""
        return np.array([0, 1], np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""
        return len(self.query_labels), len(self.database_labels)

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n]."""
        query = self.query_labels[queries, None]
        return ((query == self.database_labels[None, database]) & (query >= 0)).astype(np.uint16)


@dataclass(frozen=True)
class SharedLabelRelevance:
    """Relevance is the number of labels that two items share; labels are multi-hot rows, [n, labels] of 0 and 1."""

    query_labels: Labels
    database_labels: Labels

    @property
    def levels(self) -> NDArray[np.int64]:
        """0, 1, ... up to the largest number of labels that a query and an item could share."""
        most = min(int(labels.sum(axis=1).max(initial=0)) for labels in (self.query_labels, self.database_labels))
        return np.arange(max(most, 1) + 1, dtype=np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""
        return len(self.query_labels), len(self.database_labels)

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n]."""
        # float32 goes through BLAS and is exact for counts below 2^24; BLAS may raise the processor's flag of an
        # invalid value over the padding of its own buffers, which NumPy then reports although every count is right
        query, items = self.query_labels[queries].astype(np.float32), self.database_labels[database].astype(np.float32)
        with np.errstate(invalid="ignore"):
            return (query @ items.T).astype(np.uint16)


def from_labels(query_labels: Labels, database_labels: Labels) -> ClassRelevance | SharedLabelRelevance:
    """The relevance of class ids [n] or of multi-hot labels [n, labels]."""
    if query_labels.ndim == database_labels.ndim == 1:
        return ClassRelevance(query_labels, database_labels)
    if query_labels.ndim == database_labels.ndim == 2 and query_labels.shape[1] == database_labels.shape[1]:
        return SharedLabelRelevance(query_labels, database_labels)
    raise HashbenchError(
        f"labels of shapes {query_labels.shape} (query) and {database_labels.shape} (database) do not match: "
        "both must be class ids [n] or both multi-hot [n, labels]"
    )
