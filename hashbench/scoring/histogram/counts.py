"""The histogram: the number of database items at each distance from a query, by relevance level; and its counter."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.arrays import open_arrays, write_arrays
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.parallel import slices
from hashbench.foundation.progress import bar
from hashbench.scoring.relevance.labels import Relevance
from hashbench.scoring.relevance.neighbours import NeighbourRelevance

Ints = NDArray[np.int64]
Job = Callable[[], int]  # adds some pairs to the counts; returns their number
Report = Callable[[int], object]  # is called with the number of pairs that were counted

MOVED = 1 << 16  # pairs whose level is changed at a time

T = TypeVar("T")


@dataclass(frozen=True)
class Histogram:
    """Items at Hamming distance d with relevance levels[v], for query q; histograms of parts of a database add up."""

    counts: Ints  # [q, d, v]
    levels: Ints  # [v], ascending from 0

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.counts.shape[0])

    @property
    def n_bits(self) -> int:
        """Code length: distances run from 0 to it."""
        return int(self.counts.shape[1]) - 1

    @property
    def at_distance(self) -> Ints:
        """n_d, int64[q, d]: items at each distance, whatever their level."""
        total: Ints = np.einsum("qdv->qd", self.counts)  # four times faster than sum where the last axis is short
        return total

    @property
    def relevant(self) -> Ints:
        """n_d^+, int64[q, d]: items at each distance with a level above 0."""
        total: Ints = np.einsum("qdv->qd", self.counts[:, :, 1:])
        return total

    @property
    def n_relevant(self) -> Ints:
        """N^+, int64[q]: relevant items a query has in the whole database."""
        return self.relevant.sum(axis=1)

    def __add__(self, other: "Histogram") -> "Histogram":
        """The histogram of two parts of a database, of which one may have more levels than the other."""
        levels = joined_levels(self.levels, other.levels)
        if self.counts.shape[:2] != other.counts.shape[:2]:
            shapes = f"{self.counts.shape} and {other.counts.shape}"
            raise HashbenchError(f"histograms of shapes {shapes}: queries and bits must agree")
        return Histogram(widened(self.counts, len(levels)) + widened(other.counts, len(levels)), levels)

    def sha256(self) -> str:
        """Checksum of counts and levels as little-endian 64-bit integers; a row stores it with its scores."""
        digest = hashlib.sha256(np.ascontiguousarray(self.counts, "<i8").tobytes())
        digest.update(np.ascontiguousarray(self.levels, "<i8").tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Writes the histogram as .npz or .npz.xz, whole or not at all."""
        write_arrays(path, {"counts": self.counts, "levels": self.levels})

    @staticmethod
    def load(path: Path) -> "Histogram":
        """The histogram that ``save`` wrote; raises HashbenchError if the file is missing or damaged."""
        damaged = retold(lambda cause: f"{path}: not a readable histogram: {cause}")
        with damaged, open_arrays(path) as archive:
            return Histogram(archive["counts"], archive["levels"])


def widened(counts: Ints, n_levels: int) -> Ints:
    """``counts`` [q, d, v] with zeros for more levels, ``n_levels`` in all."""
    missing = n_levels - counts.shape[2]
    if missing == 0:
        return counts
    return np.pad(counts, ((0, 0), (0, 0), (0, missing)))


def joined_levels(known: Ints, levels: Ints) -> Ints:
    """The longer of two lists of levels; raises HashbenchError if it does not begin with the shorter one."""
    if not np.array_equal(levels[: len(known)], known[: len(levels)]):
        raise HashbenchError(f"relevance levels {levels} and {known}: the pieces of a database must agree")
    return max(known, levels, key=len)


def require_fit(query: tuple[int, int], database: tuple[int, int], relevance: Relevance) -> None:
    """Raises HashbenchError if the shapes of the codes, [items, bits], and of the relevance do not agree."""
    require_bits(query[1], database[1])
    if relevance.shape != (query[0], database[0]):
        labels = f"labels for {relevance.shape[0]} queries and {relevance.shape[1]} items"
        raise HashbenchError(f"{labels}, codes for {query[0]} and {database[0]}: rows must match")


def require_bits(query: int, database: int) -> None:
    """Raises HashbenchError if two code lengths differ."""
    if query != database:
        raise HashbenchError(f"query codes have {query} bits, database codes {database}: they must agree")


class Counter(ABC):
    """Counts query codes against a database that comes in pieces; both are ``Codes`` or torch's ``TensorCodes``."""

    def __init__(self, query: Any) -> None:
        self.query_shape = query.shape
        self.n_items = 0
        self.n_pieces = 0
        self.levels = np.zeros(0, np.int64)

    def add(self, database: Any, relevance: Relevance, report: Report = int) -> None:
        """Counts a piece; raises HashbenchError if shapes do not agree, and if the memory of the device is full."""
        require_fit(self.query_shape, database.shape, relevance)
        self.levels = joined_levels(self.levels, relevance.levels)
        if isinstance(relevance, NeighbourRelevance):  # all pairs are counted by distance alone, then few are moved
            self._add(database, relevance.unlabelled(), report)
            for rows in slices(len(relevance.ids), MOVED // max(1, relevance.ids.shape[1]) + 1):
                queries, items = NeighbourRelevance(relevance.ids[rows], relevance.n_items).listed()
                self._move(queries + rows.start, database, items)
        else:
            self._add(database, relevance, report)
        self.n_items += len(database)
        self.n_pieces += 1

    def add_all(self, pieces: Iterable[tuple[Any, Relevance]], n_items: int | None, *, progress: bool) -> None:
        """Counts pieces of ``n_items`` in all; a thread fetches the next one while one is counted."""
        n_pairs = None if n_items is None else self.query_shape[0] * n_items
        with bar("count", "pair", n_pairs, shown=progress, scaled=True) as shown:
            for database, relevance in ahead(pieces):
                self.add(database, relevance, shown.update)

    def histogram(self) -> Histogram:
        """The histogram of all pieces so far; raises HashbenchError if there was none."""
        if not self.n_pieces:
            raise HashbenchError("nothing to count: no piece of a database")
        total = Histogram(self._counts(), self.levels)
        assert (total.counts.sum(axis=(1, 2)) == self.n_items).all(), "every item is counted once for each query"
        return total

    @abstractmethod
    def _add(self, database: Any, relevance: Relevance, report: Report) -> None:
        """Counts a piece, whose levels are in ``self.levels``."""

    @abstractmethod
    def _move(self, queries: Ints, database: Any, items: Ints) -> None:
        """Moves the pairs of ``queries`` [n] and ``items`` [n], rows of ``database``, from level 0 to level 1."""

    @abstractmethod
    def _counts(self) -> Ints:
        """int64[q, d, v]."""


def ahead(blocks: Iterable[T]) -> Iterator[T]:
    """The same blocks, each fetched by a thread while the one before it is in use."""
    remaining = iter(blocks)
    end = object()
    with ThreadPoolExecutor(1) as reader:
        fetched = reader.submit(next, remaining, end)
        while (block := fetched.result()) is not end:
            fetched = reader.submit(next, remaining, end)
            yield cast(T, block)
