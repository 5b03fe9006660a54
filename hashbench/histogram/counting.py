"""Counts query codes against database codes into a histogram, on the CPU or on another device."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TypeAlias, TypeVar, Union, cast

import numpy as np

from hashbench.codes import Codes, block_items
from hashbench.histogram.counts import Counter, Histogram, joined_levels, sum_up
from hashbench.parallel import available_cores, slices
from hashbench.progress import bar
from hashbench.relevance.labels import Relevance

if TYPE_CHECKING:
    from hashbench.histogram.torch_kernel import TensorCodes

AnyCodes: TypeAlias = Union[Codes, "TensorCodes"]  # packed, in NumPy's memory or on a torch device

T = TypeVar("T")


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

    A pair costs one popcount per word and at most one increment. The memory is that of the result and a few MiB, never
    queries x database. ``device`` is "cpu" or "cuda:N"; the histogram is the same. On the CPU the ``workers`` (by
    default one for each core that this process may use) are threads that call kernels which release the GIL, so no
    second pool competes with those of NumPy or torch. ``progress`` shows a bar if counting takes long.
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
    """The histogram of ``query`` codes against a database that comes in pieces and is never whole in memory.

    A piece is its codes and the relevance of all queries to them; a thread fetches the next piece while one is counted.
    The result is that of ``count`` on the whole database, whatever the pieces. If a piece has more levels than the
    pieces before it, these levels are added. Without pieces HashbenchError is raised. ``n_items`` is for the progress
    bar.

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
