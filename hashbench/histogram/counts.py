"""The histogram: how many database items lie at each distance from a query with each relevance level."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, Union, cast

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import Codes, block_items
from hashbench.errors import HashbenchError
from hashbench.files import atomic
from hashbench.parallel import available_cores, slices
from hashbench.progress import bar
from hashbench.relevance.labels import Relevance

if TYPE_CHECKING:
    from hashbench.histogram.torch_kernel import TensorCodes

AnyCodes: TypeAlias = Union[Codes, "TensorCodes"]  # packed, in NumPy's memory or on a torch device

OWN_ROWS = 1 << 8  # items whose relevance to themselves is looked up together

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


class Counter(Protocol):
    """Counts the pairs of some queries and a database that comes in pieces, on the CPU or on another device."""

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, bits)."""
        ...

    def add(self, database: AnyCodes, relevance: Relevance, report: Callable[[int], object]) -> None:
        """Adds a piece, codes and the relevance of all queries to them; ``report`` is told how many pairs it had."""
        ...

    def histogram(self) -> Histogram:
        """The histogram of all pieces so far."""
        ...


def count(
    query: AnyCodes,
    database: AnyCodes,
    relevance: Relevance,
    *,
    device: str = "cpu",
    workers: int | None = None,
    progress: bool = False,
) -> Histogram:
    """The histogram of ``query`` codes against ``database`` codes.

    Counting costs one popcount a word and at most one increment a pair. It needs memory for the result and a few MiB,
    never for queries x database. ``device`` is "cpu" or "cuda:N"; the histogram is the same. On the CPU the
    ``workers`` (one for each core that this process may use) are plain threads around kernels that release the GIL, so
    that no second pool competes with those of NumPy or torch. ``progress`` shows a bar when it takes long.
    """
    shown = bar("count", "pair", len(query) * len(database), shown=progress, scaled=True)
    return sum_up(_counter(query, device, workers), [(database, relevance)], shown)


def count_blocks(
    query: AnyCodes,
    blocks: Iterable[tuple[AnyCodes, Relevance]],
    *,
    n_items: int | None = None,
    device: str = "cpu",
    workers: int | None = None,
    progress: bool = False,
) -> Histogram:
    """The histogram of ``query`` codes against a database that comes in pieces and is never in memory as a whole.

    Each piece is its codes and the relevance of all queries to it; a thread fetches the next one while one is counted.
    The result is that of ``count`` on the whole database, whatever the pieces. Where a piece knows more levels than
    those before it, the levels are added. No piece at all raises HashbenchError. ``n_items`` is for the progress bar.

    >>> from hashbench.relevance.labels import ClassRelevance
    >>> from hashbench.codes import pack
    >>> query, labels = pack(np.array([[0, 1]])), np.array([5])
    >>> pieces = ((pack(np.array([bits])), ClassRelevance(labels, labels)) for bits in ([0, 1], [1, 1]))
    >>> count_blocks(query, pieces).counts.tolist()
    [[[0, 1], [0, 1], [0, 0]]]
    """
    pairs = None if n_items is None else len(query) * n_items
    shown = bar("count", "pair", pairs, shown=progress, scaled=True)
    return sum_up(_counter(query, device, workers), _ahead(blocks), shown)


def sum_up(
    counting: AbstractContextManager[Counter], blocks: Iterable[tuple[AnyCodes, Relevance]], shown: Any
) -> Histogram:
    """The histogram of a counter's queries against all ``blocks``; the bar ``shown`` is moved and closed."""
    n_items = 0
    with shown, counting as counter:
        for database, relevance in blocks:
            _check_shapes(counter.shape, database.shape, relevance)
            counter.add(database, relevance, shown.update)
            n_items += len(database)
        total = counter.histogram()
    if not len(total.levels):
        raise HashbenchError("nothing to count: no piece of a database")
    assert (total.counts.sum(axis=(1, 2)) == n_items).all(), "every item is counted once for each query"
    return total


def without_itself(counted: Histogram, relevance: Relevance) -> Histogram:
    """The histogram of a set against itself, without the pairs of an item with itself.

    Such a pair lies at distance 0, with the level that ``relevance`` (of the set to itself) gives it; it is taken off
    the count. Raises HashbenchError where ``counted`` is not the histogram of a set against itself.

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


def joined_levels(known: NDArray[np.int64], levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The longer of two lists of levels; raises HashbenchError where the other one is not its beginning."""
    if not np.array_equal(levels[: len(known)], known[: len(levels)]):
        raise HashbenchError(f"relevance levels {levels} and {known}: the pieces of a database must agree")
    return levels if len(levels) > len(known) else known


def _ahead(blocks: Iterable[T]) -> Iterator[T]:
    """The same blocks, each fetched by a thread while the one before it is in use."""
    remaining, end = iter(blocks), object()
    with ThreadPoolExecutor(1) as reader:
        fetched = reader.submit(next, remaining, end)
        while (block := fetched.result()) is not end:
            fetched = reader.submit(next, remaining, end)
            yield cast(T, block)


def _counter(query: AnyCodes, device: str, workers: int | None) -> AbstractContextManager[Counter]:
    if device == "cpu":
        return _cpu_counter(query, workers)
    from hashbench.histogram import torch_kernel

    return torch_kernel.counter(query, device)


@contextmanager
def _cpu_counter(query: AnyCodes, workers: int | None) -> "Iterator[_CpuCounter]":
    with ThreadPoolExecutor(workers or available_cores()) as pool:
        yield _CpuCounter(on_cpu(query), pool)


def on_cpu(codes: AnyCodes) -> Codes:
    """The codes in NumPy's memory; those on a torch device are copied, packed."""
    return codes if isinstance(codes, Codes) else codes.to_host()


class _CpuCounter:
    """Counts with Numba's kernels in a pool of threads."""

    def __init__(self, query: Codes, pool: ThreadPoolExecutor) -> None:
        self.query, self.pool, self.shape = query, pool, query.shape
        self.levels = np.zeros(0, np.int64)
        self.counts = np.zeros((len(query), query.n_bits + 1, 0), np.int64)

    def add(self, database: AnyCodes, relevance: Relevance, report: Callable[[int], object]) -> None:
        from hashbench.histogram.numba_kernel import jobs

        self.levels = joined_levels(self.levels, relevance.levels)
        missing = len(self.levels) - self.counts.shape[2]
        self.counts = np.pad(self.counts, ((0, 0), (0, 0), (0, missing))) if missing else self.counts
        packed = on_cpu(database)
        for columns in slices(len(packed), block_items(packed.n_bits)):
            parts = jobs(relevance, self.query, packed, columns, self.counts)
            for n_pairs in self.pool.map(lambda job: job(), parts):
                report(n_pairs)

    def histogram(self) -> Histogram:
        return Histogram(self.counts, self.levels)


def _check_shapes(query: tuple[int, int], database: tuple[int, int], relevance: Relevance) -> None:
    """Raises HashbenchError unless codes of those shapes, [items, bits], and the relevance belong together."""
    if query[1] != database[1]:
        raise HashbenchError(f"query codes have {query[1]} bits, database codes {database[1]}: they must agree")
    if relevance.shape != (query[0], database[0]):
        raise HashbenchError(
            f"labels for {relevance.shape[0]} queries and {relevance.shape[1]} items, codes for "
            f"{query[0]} and {database[0]}: rows must match"
        )
