"""Counts query codes against database codes into a histogram, on the CPU or on another device."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, Union, cast

import numpy as np

from hashbench.codes import Codes, block_items
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import bar
from hashbench.histogram.counts import Counter, Counts, Histogram, Job, joined_levels, sum_up
from hashbench.relevance.labels import Relevance

if TYPE_CHECKING:
    from hashbench.histogram.torch_kernel import TensorCodes

AnyCodes: TypeAlias = Union[Codes, "TensorCodes"]  # packed, in NumPy's memory or on a torch device
Kernel = Literal["numpy", "numba"]  # of the CPU; both count the same

Jobs = Callable[[Relevance, Codes, Codes, slice, Counts], Iterator[Job]]

T = TypeVar("T")

# To import Numba and its kernels takes as long as NumPy needs for so many words of 64 bits (benchmarks/processes.py).
NUMPY_WORDS = 150_000_000


def count(
    query: AnyCodes,
    database: AnyCodes,
    relevance: Relevance,
    *,
    device: str = "cpu",
    workers: int | None = None,
    kernel: Kernel | None = None,
    progress: bool = False,
) -> Histogram:
    """The histogram of ``query`` codes against ``database`` codes.

    A pair costs one popcount per word and at most one increment. The memory is that of the result and a few MiB, never
    queries x database. ``device`` is "cpu" or "cuda:N"; the histogram is the same. On the CPU the ``workers`` are
    threads that call the kernel: by default one for each core that this process may use with Numba's kernels, which
    release the GIL, so no second pool competes with those of NumPy or torch. ``kernel`` is that of the CPU, by default
    NumPy's for few pairs, which needs no import, and Numba's for more. ``progress`` shows a bar if counting takes long.
    """
    n_pairs = len(query) * len(database)
    shown = bar("count", "pair", n_pairs, shown=progress, scaled=True)
    counter = _counter(query, device, workers, kernel, n_pairs)
    return sum_up(counter, [(database, relevance)], shown)


def count_blocks(
    query: AnyCodes,
    blocks: Iterable[tuple[AnyCodes, Relevance]],
    *,
    n_items: int | None = None,
    device: str = "cpu",
    workers: int | None = None,
    kernel: Kernel | None = None,
    progress: bool = False,
) -> Histogram:
    """The histogram of ``query`` codes against a database that comes in pieces and is never whole in memory.

    A piece is its codes and the relevance of all queries to them; a thread fetches the next piece while one is counted.
    The result is that of ``count`` on the whole database, whatever the pieces. If a piece has more levels than the
    pieces before it, these levels are added. Without pieces HashbenchError is raised. ``n_items``, the number of
    items of all pieces where it is known, is for the progress bar and the choice of the kernel.

    >>> from hashbench.relevance.labels import ClassRelevance
    >>> from hashbench.codes import pack
    >>> query, labels = pack(np.array([[0, 1]])), np.array([5])
    >>> pieces = ((pack(np.array([bits])), ClassRelevance(labels, labels)) for bits in ([0, 1], [1, 1]))
    >>> count_blocks(query, pieces).counts.tolist()
    [[[0, 1], [0, 1], [0, 0]]]
    """
    pairs = None if n_items is None else len(query) * n_items
    shown = bar("count", "pair", pairs, shown=progress, scaled=True)
    counter = _counter(query, device, workers, kernel, pairs)
    return sum_up(counter, _ahead(blocks), shown)


class _Allowance:
    """The words that NumPy's kernel may still compare in this process.

    A process that counts often pays for the import of Numba once, when it has spent as much time without it.
    """

    left = NUMPY_WORDS

    @classmethod
    def take(cls, n_words: int) -> bool:
        """Whether ``n_words`` are left; they are taken, or else nothing is left for later calls."""
        fits = n_words <= cls.left
        cls.left = cls.left - n_words if fits else 0
        return fits


def _faster(n_pairs: int | None, n_bits: int) -> Kernel:
    """The kernel that ends sooner, the import of Numba included; None: the number of pairs is not known."""
    return "numba" if n_pairs is None or not _Allowance.take(n_pairs * -(-n_bits // 64)) else "numpy"


def _ahead(blocks: Iterable[T]) -> Iterator[T]:
    """The same blocks, each fetched by a thread while the one before it is in use."""
    remaining, end = iter(blocks), object()
    with ThreadPoolExecutor(1) as reader:
        fetched = reader.submit(next, remaining, end)
        while (block := fetched.result()) is not end:
            fetched = reader.submit(next, remaining, end)
            yield cast(T, block)


def _counter(
    query: AnyCodes, device: str, workers: int | None, kernel: Kernel | None, n_pairs: int | None
) -> AbstractContextManager[Counter]:
    if device == "cpu":
        return _cpu_counter(query, workers, kernel or _faster(n_pairs, query.shape[1]))
    from hashbench.histogram import torch_kernel

    return torch_kernel.counter(query, device)


@contextmanager
def _cpu_counter(query: AnyCodes, workers: int | None, kernel: Kernel) -> "Iterator[_CpuCounter]":
    threads = available_cores() if kernel == "numba" else 1  # NumPy's bincount holds the GIL
    with ThreadPoolExecutor(workers or threads) as pool:
        yield _CpuCounter(on_cpu(query), pool, import_module(f"hashbench.histogram.{kernel}_kernel").jobs)


def on_cpu(codes: AnyCodes) -> Codes:
    """The codes in NumPy's memory; those on a torch device are copied, packed."""
    return codes if isinstance(codes, Codes) else codes.to_host()


class _CpuCounter:
    """Counts with the ``jobs`` of a kernel in a pool of threads."""

    def __init__(self, query: Codes, pool: ThreadPoolExecutor, jobs: Jobs) -> None:
        self.query, self.pool, self.jobs, self.shape = query, pool, jobs, query.shape
        self.levels = np.zeros(0, np.int64)
        self.counts = np.zeros((len(query), query.n_bits + 1, 0), np.int64)

    def add(self, database: AnyCodes, relevance: Relevance, report: Callable[[int], object]) -> None:
        self.levels = joined_levels(self.levels, relevance.levels)
        missing = len(self.levels) - self.counts.shape[2]
        self.counts = np.pad(self.counts, ((0, 0), (0, 0), (0, missing))) if missing else self.counts
        packed = on_cpu(database)
        for columns in slices(len(packed), block_items(packed.n_bits)):
            parts = self.jobs(relevance, self.query, packed, columns, self.counts)
            for n_pairs in self.pool.map(lambda job: job(), parts):
                report(n_pairs)

    def histogram(self) -> Histogram:
        return Histogram(self.counts, self.levels)
