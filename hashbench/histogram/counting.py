"""Counts query codes against database codes into a histogram, on the CPU or on another device."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar, Union, cast

import numpy as np

from hashbench.codes import Codes, block_items
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import bar
from hashbench.histogram.counts import Histogram, Ints, Job, joined_levels, require_fit
from hashbench.relevance.labels import Relevance

if TYPE_CHECKING:
    from hashbench.histogram.torch_kernel import TensorCodes

AnyCodes: TypeAlias = Union[Codes, "TensorCodes"]  # packed, in NumPy's memory or on a torch device
Kernel = Literal["numpy", "numba"]  # of the CPU; both count the same
Report = Callable[[int], object]  # is called with the number of pairs that were counted

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
    counter = Counter(query, device=device, workers=workers, kernel=kernel, n_items=len(database))
    with bar("count", "pair", len(query) * len(database), shown=progress, scaled=True) as shown:
        counter.add(database, relevance, shown.update)
    return counter.histogram()


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
    counter = Counter(query, device=device, workers=workers, kernel=kernel, n_items=n_items)
    pairs = None if n_items is None else len(query) * n_items
    with bar("count", "pair", pairs, shown=progress, scaled=True) as shown:
        for database, relevance in ahead(blocks):
            counter.add(database, relevance, shown.update)
    return counter.histogram()


class _Device(Protocol):
    """Adds pairs to a histogram, on the CPU or on another device."""

    def add(self, database: AnyCodes, relevance: Relevance, report: Report) -> None:
        """Counts a piece of the database."""

    def histogram(self) -> Histogram:
        """The histogram of all pieces so far."""
        ...


class Counter:
    """Counts query codes against a database that comes in pieces; the options are those of ``count``.

    ``n_items``, the number of items of all pieces where it is known, is for the choice of the kernel.
    """

    def __init__(
        self,
        query: AnyCodes,
        *,
        device: str = "cpu",
        workers: int | None = None,
        kernel: Kernel | None = None,
        n_items: int | None = None,
    ) -> None:
        self.query, self.n_items, self._n_pieces = query, 0, 0
        if device == "cpu":
            n_pairs = None if n_items is None else len(query) * n_items
            self._device: _Device = _Cpu(on_cpu(query), workers, kernel or _faster(n_pairs, query.shape[1]))
        else:
            from hashbench.histogram import torch_kernel

            self._device = torch_kernel.TorchCounter(query, device)

    def add(self, database: AnyCodes, relevance: Relevance, report: Report = int) -> None:
        """Counts a piece: packed codes, and the relevance of all queries to them.

        Raises HashbenchError if their shapes do not agree, and if the memory of the device is full.
        """
        require_fit(self.query.shape, database.shape, relevance)
        self._device.add(database, relevance, report)
        self.n_items += len(database)
        self._n_pieces += 1

    def histogram(self) -> Histogram:
        """The histogram of all pieces so far; raises HashbenchError if there was none."""
        if not self._n_pieces:
            raise HashbenchError("nothing to count: no piece of a database")
        total = self._device.histogram()
        assert (total.counts.sum(axis=(1, 2)) == self.n_items).all(), "every item is counted once for each query"
        return total


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


def ahead(blocks: Iterable[T]) -> Iterator[T]:
    """The same blocks, each fetched by a thread while the one before it is in use."""
    remaining, end = iter(blocks), object()
    with ThreadPoolExecutor(1) as reader:
        fetched = reader.submit(next, remaining, end)
        while (block := fetched.result()) is not end:
            fetched = reader.submit(next, remaining, end)
            yield cast(T, block)


def on_cpu(codes: AnyCodes) -> Codes:
    """The codes in NumPy's memory; those on a torch device are copied, packed."""
    return codes if isinstance(codes, Codes) else codes.to_host()


class _Cpu:
    """Counts with the ``jobs`` of a kernel in a pool of threads."""

    def __init__(self, query: Codes, workers: int | None, kernel: Kernel) -> None:
        self.query, self.jobs = query, import_module(f"hashbench.histogram.{kernel}_kernel").jobs
        self.threads = workers or (available_cores() if kernel == "numba" else 1)  # NumPy's bincount holds the GIL
        self.levels = np.zeros(0, np.int64)
        self.counts: Ints = np.zeros((len(query), query.n_bits + 1, 0), np.int64)

    def add(self, database: AnyCodes, relevance: Relevance, report: Report) -> None:
        self.levels = joined_levels(self.levels, relevance.levels)
        missing = len(self.levels) - self.counts.shape[2]
        self.counts = np.pad(self.counts, ((0, 0), (0, 0), (0, missing))) if missing else self.counts
        packed = on_cpu(database)
        with ThreadPoolExecutor(self.threads) as pool:
            for columns in slices(len(packed), block_items(packed.n_bits)):
                parts: Iterable[Job] = self.jobs(relevance, self.query, packed, columns, self.counts)
                for n_pairs in pool.map(lambda job: job(), parts):
                    report(n_pairs)

    def histogram(self) -> Histogram:
        return Histogram(self.counts, self.levels)
