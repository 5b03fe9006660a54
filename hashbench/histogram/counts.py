"""The one histogram: how many database items lie at each distance with each relevance level."""

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import Codes, block_items
from hashbench.errors import HashbenchError
from hashbench.files import atomic
from hashbench.parallel import available_cores, slices
from hashbench.progress import bar
from hashbench.relevance.labels import Relevance

OWN_ROWS = 1 << 8  # items asked together for their relevance to themselves

T = TypeVar("T")


@dataclass(frozen=True)
class Histogram:
    """counts int64[q, d, v]: items at Hamming distance d = 0..bits with relevance levels[v], for query q.

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
    query: Codes, database: Codes, relevance: Relevance, *, workers: int | None = None, progress: bool = False
) -> Histogram:
    """The histogram of ``query`` codes against ``database`` codes.

    Costs one popcount a word and at most one increment a pair; memory is the result and a few MiB, never queries x
    database. Workers (one for each core that this process may use) are plain threads around kernels that release the
    GIL, so that no second thread pool fights with those of NumPy or torch. ``progress`` shows a bar when it takes long.
    """
    pairs = len(query) * len(database)
    return _counted(query, [(database, relevance)], workers, bar("count", "pair", pairs, shown=progress, scaled=True))


def count_blocks(
    query: Codes,
    blocks: Iterable[tuple[Codes, Relevance]],
    *,
    n_items: int | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> Histogram:
    """The histogram of ``query`` codes against a database that comes in pieces, so that it is never in memory whole.

    Each piece is its codes and the relevance of all queries to it; the next one is fetched, in a thread, while one is
    counted. The result is that of ``count`` on the whole, whatever the cuts: where a piece knows more levels than
    those before it, they are added. No piece at all raises HashbenchError. ``n_items`` is for the progress bar.

    >>> from hashbench.relevance.labels import ClassRelevance
    >>> from hashbench.codes import pack
    >>> query, labels = pack(np.array([[0, 1]])), np.array([5])
    >>> pieces = ((pack(np.array([bits])), ClassRelevance(labels, labels)) for bits in ([0, 1], [1, 1]))
    >>> count_blocks(query, pieces).counts.tolist()
    [[[0, 1], [0, 1], [0, 0]]]
    """
    pairs = None if n_items is None else len(query) * n_items
    return _counted(query, _ahead(blocks), workers, bar("count", "pair", pairs, shown=progress, scaled=True))


def without_itself(counted: Histogram, relevance: Relevance) -> Histogram:
    """The histogram of a set against itself, without the pairs of an item with itself.

    Those lie at distance 0, each with the level that ``relevance``, of the set to itself, gives it: exact, for counts
    are whole numbers. Raises HashbenchError where ``counted`` is no histogram of a set against itself.

    >>> from hashbench.relevance.labels import ClassRelevance
    >>> from hashbench.codes import pack
    >>> codes, same = pack(np.array([[0], [0]])), ClassRelevance(np.array([7, 7]), np.array([7, 7]))
    >>> without_itself(count(codes, codes, same), same).counts.tolist()
    [[[0, 1], [0, 0]], [[0, 1], [0, 0]]]
    """
    n, counts = counted.n_queries, counted.counts.copy()
    fits = relevance.shape == (n, n) and np.array_equal(relevance.levels, counted.levels)
    for rows in slices(n if fits else 0, OWN_ROWS):
        own = relevance.block(rows, rows).diagonal()
        counts[np.arange(rows.start, rows.stop), 0, own] -= 1
    if not fits or (counts[:, 0] < 0).any() or (counts.sum(axis=(1, 2)) != n - 1).any():
        raise HashbenchError(
            f"a histogram of {n} queries, a relevance of {relevance.shape}: no set against itself, for an item is not "
            "at distance 0 from itself with its own level, or levels or numbers differ"
        )
    return replace(counted, counts=counts)


def _ahead(blocks: Iterable[T]) -> Iterator[T]:
    """The same blocks, each asked for while the one before it is in use."""
    coming, end = iter(blocks), object()
    with ThreadPoolExecutor(1) as reader:
        fetched = reader.submit(next, coming, end)
        while (block := fetched.result()) is not end:
            fetched = reader.submit(next, coming, end)
            yield cast(T, block)


def _counted(query: Codes, blocks: Iterable[tuple[Codes, Relevance]], workers: int | None, counted: Any) -> Histogram:
    n_items = 0
    total = Histogram(np.zeros((len(query), query.n_bits + 1, 0), np.int64), np.zeros(0, np.int64))
    with counted, ThreadPoolExecutor(workers or available_cores()) as pool:
        for database, relevance in blocks:
            check_shapes(query.shape, database.shape, relevance)
            total = _with_levels(total, relevance.levels)
            _add(pool, counted, query, database, relevance, total.counts)
            n_items += len(database)
    if not len(total.levels):
        raise HashbenchError("nothing to count: no piece of a database")
    assert (total.counts.sum(axis=(1, 2)) == n_items).all(), "every item is counted once for each query"
    return total


def _add(
    pool: ThreadPoolExecutor,
    counted: Any,
    query: Codes,
    database: Codes,
    relevance: Relevance,
    counts: NDArray[np.int64],
) -> None:
    from hashbench.histogram.numba_kernel import jobs

    for columns in slices(len(database), block_items(query.n_bits)):
        for pairs in pool.map(lambda job: job(), jobs(relevance, query, database, columns, counts)):
            counted.update(pairs)


def check_shapes(query: tuple[int, int], database: tuple[int, int], relevance: Relevance) -> None:
    """Raises HashbenchError unless codes of those shapes, [items, bits], and the relevance belong together."""
    if query[1] != database[1]:
        raise HashbenchError(f"query codes have {query[1]} bits, database codes {database[1]}: they must agree")
    if relevance.shape != (query[0], database[0]):
        raise HashbenchError(
            f"labels for {relevance.shape[0]} queries and {relevance.shape[1]} items, codes for "
            f"{query[0]} and {database[0]}: rows must match"
        )


def _with_levels(total: Histogram, levels: NDArray[np.int64]) -> Histogram:
    """``total`` with room for ``levels`` too; raises HashbenchError where one is not the beginning of the other."""
    known = len(total.levels)
    if not np.array_equal(levels[:known], total.levels[: len(levels)]):
        raise HashbenchError(f"relevance levels {levels} and {total.levels}: the pieces of a database must agree")
    if len(levels) <= known:
        return total
    return Histogram(np.pad(total.counts, ((0, 0), (0, 0), (0, len(levels) - known))), levels)
