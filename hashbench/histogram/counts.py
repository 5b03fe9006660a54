"""The histogram: the number of database items at each distance from a query, by relevance level."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic
from hashbench.relevance.labels import Relevance

Ints = NDArray[np.int64]
Job = Callable[[], int]  # adds some pairs to the counts; returns their number


@dataclass(frozen=True)
class Histogram:
    """counts int64[q, d, v]: items at Hamming distance d = 0..bits with relevance levels[v], for query q.

    Every ranking metric is a formula of it. Histograms of the parts of a database add up to the histogram of the whole.
    """

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
    def at_distance(self) -> NDArray[np.int64]:
        """n_d, int64[q, d]: items at each distance, whatever their level."""
        return _sum_of_levels(self.counts)

    @property
    def relevant(self) -> NDArray[np.int64]:
        """n_d^+, int64[q, d]: items at each distance with a level above 0."""
        return _sum_of_levels(self.counts[:, :, 1:])

    @property
    def n_relevant(self) -> NDArray[np.int64]:
        """N^+, int64[q]: relevant items a query has in the whole database."""
        return self.relevant.sum(axis=1)

    def __add__(self, other: "Histogram") -> "Histogram":
        if self.counts.shape != other.counts.shape or not np.array_equal(self.levels, other.levels):
            raise HashbenchError(
                f"histograms of shapes {self.counts.shape} and {other.counts.shape} cannot be added: "
                "queries, bits and levels must agree"
            )
        return Histogram(self.counts + other.counts, self.levels)

    def joined(self, other: "Histogram") -> "Histogram":
        """The sum where one may have more levels than the other: those of two parts of a database.

        Raises HashbenchError if the levels of the one do not begin with those of the other.
        """
        levels = joined_levels(self.levels, other.levels)
        return self._with_levels(levels) + other._with_levels(levels)

    def _with_levels(self, levels: NDArray[np.int64]) -> "Histogram":
        missing = len(levels) - len(self.levels)
        return Histogram(np.pad(self.counts, ((0, 0), (0, 0), (0, missing))), levels) if missing else self

    def sha256(self) -> str:
        """Checksum of counts and levels as little-endian 64-bit integers; a row stores it with its scores."""
        digest = hashlib.sha256(np.ascontiguousarray(self.counts, "<i8").tobytes())
        digest.update(np.ascontiguousarray(self.levels, "<i8").tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Writes the histogram as .npz, whole or not at all."""
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, counts=self.counts, levels=self.levels)

    @staticmethod
    def load(path: Path) -> "Histogram":
        """The histogram that ``save`` wrote."""
        # opened here: NumPy does not close a file of its own when the archive in it is damaged
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return Histogram(archive["counts"], archive["levels"])


def joined_levels(known: NDArray[np.int64], levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The longer of two lists of levels; raises HashbenchError if it does not begin with the shorter one."""
    if not np.array_equal(levels[: len(known)], known[: len(levels)]):
        raise HashbenchError(f"relevance levels {levels} and {known}: the pieces of a database must agree")
    return levels if len(levels) > len(known) else known


def require_fit(query: tuple[int, int], database: tuple[int, int], relevance: Relevance) -> None:
    """Raises HashbenchError if the shapes of the codes, [items, bits], and of the relevance do not agree."""
    if query[1] != database[1]:
        raise HashbenchError(f"query codes have {query[1]} bits, database codes {database[1]}: they must agree")
    if relevance.shape != (query[0], database[0]):
        raise HashbenchError(
            f"labels for {relevance.shape[0]} queries and {relevance.shape[1]} items, codes for "
            f"{query[0]} and {database[0]}: rows must match"
        )


def _sum_of_levels(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum over the last axis, int64[q, d]; einsum is four times faster than sum where that axis is short."""
    total: NDArray[np.int64] = np.einsum("qdv->qd", counts)
    return total
