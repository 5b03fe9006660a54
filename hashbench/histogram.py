"""The one histogram: how many database items lie at each distance with each affinity level."""

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from hashbench.affinity import Affinity
from hashbench.codes import Codes
from hashbench.errors import HashbenchError
from hashbench.files import atomic

QUERY_BLOCK = 32
DATABASE_BLOCK = 1 << 16  # with 32 queries the uint16 level block is 4 MiB, about a core's cache


@dataclass(frozen=True)
class Histogram:
    """counts int64[q, d, v]: items at Hamming distance d = 0..bits with affinity levels[v], for query q.

    Every ranking metric is a closed form of it. Histograms of parts of a database add up to the
    histogram of the whole.
    """

    counts: NDArray[np.int64]
    levels: NDArray[np.int64]

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
        return self.counts.sum(axis=2)

    @property
    def relevant(self) -> NDArray[np.int64]:
        """n_d^+, int64[q, d]: items at each distance with a level above 0."""
        return self.counts[:, :, 1:].sum(axis=2)

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

    def sha256(self) -> str:
        """Checksum of counts and levels as little-endian 64-bit integers: what a row says it was scored from."""
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


def count(
    query: Codes, database: Codes, affinity: Affinity, *, workers: int | None = None, progress: bool = False
) -> Histogram:
    """The histogram of ``query`` codes against ``database`` codes.

    Costs one popcount a word and one increment a pair; memory is the result plus one block of levels a
    worker, never queries x database. Workers are plain threads around a kernel that releases the GIL, so
    no second thread pool fights with those of NumPy or torch. ``progress`` shows a bar when it takes long.
    """
    if query.n_bits != database.n_bits:
        raise HashbenchError(f"query codes have {query.n_bits} bits, database codes {database.n_bits}: they must agree")
    if affinity.shape != (len(query), len(database)):
        raise HashbenchError(
            f"labels for {affinity.shape[0]} queries and {affinity.shape[1]} items, codes for "
            f"{len(query)} and {len(database)}: rows must match"
        )
    from hashbench.histogram_numba import count_block

    levels = affinity.levels
    counts = np.zeros((len(query), query.n_bits + 1, len(levels)), np.int64)

    def fill(rows: slice) -> None:
        for columns in _slices(len(database), DATABASE_BLOCK):
            count_block(query.words[rows], database.words[columns], affinity.block(rows, columns), counts[rows])

    blocks = list(_slices(len(query), QUERY_BLOCK))
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        for _ in tqdm(pool.map(fill, blocks), "count", len(blocks), leave=False, disable=not progress, delay=2):
            pass
    assert (counts.sum(axis=(1, 2)) == len(database)).all(), "every item is counted once for each query"
    return Histogram(counts, levels)


def _slices(length: int, size: int) -> Iterator[slice]:
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))
