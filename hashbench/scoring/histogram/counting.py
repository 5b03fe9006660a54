"""Counts query codes against database codes into a histogram, on the CPU or on another device."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, Union, Unpack

import numpy as np

from hashbench.foundation.parallel import available_cores, slices
from hashbench.scoring.codes import Codes, block_items
from hashbench.scoring.histogram.counts import Counter, Histogram, Ints, Job, Report, widened
from hashbench.scoring.relevance.distances import DistanceRelevance
from hashbench.scoring.relevance.labels import Relevance

if TYPE_CHECKING:
    from hashbench.scoring.histogram.torch_kernel import TensorCodes

AnyCodes: TypeAlias = Union[Codes, "TensorCodes"]  # packed, in NumPy's memory or on a torch device
Kernel = Literal["numpy", "numba"]  # of the CPU; both count the same

# To import Numba and its kernels takes as long as NumPy needs for so many words of 64 bits (benchmarks/processes.py).
NUMPY_WORDS = 150_000_000


class CountOptions(TypedDict, total=False):
    """Where and how pairs are counted; the histogram is the same."""

    device: str  # "cpu" (the default) or "cuda:N"
    workers: int | None  # threads of the CPU; None: one, or one a core with Numba's kernels, which release the GIL
    kernel: Kernel | None  # of the CPU; None: NumPy's for few pairs, which needs no import, and Numba's for more


def count(
    query: AnyCodes,
    database: AnyCodes,
    relevance: Relevance,
    *,
    progress: bool = False,
    **options: Unpack[CountOptions],
) -> Histogram:
    """The histogram of ``query`` codes against ``database`` codes; it takes a few MiB more, for any relevance."""
    blocks: Iterable[tuple[AnyCodes, Relevance]] = [(database, relevance)]
    if isinstance(relevance, DistanceRelevance):
        blocks = ((database[part], known) for part, known in relevance.pieces())
    return count_blocks(query, blocks, n_items=len(database), progress=progress, **options)


def count_blocks(
    query: AnyCodes,
    blocks: Iterable[tuple[AnyCodes, Relevance]],  # each with the relevance of all queries to it; it may add levels
    *,
    n_items: int | None = None,  # of all pieces, for the progress bar and the choice of the kernel
    progress: bool = False,
    **options: Unpack[CountOptions],
) -> Histogram:
    """The histogram of ``query`` codes against a database that comes in pieces and is never whole in memory."""
    counting = counter(query, n_items=n_items, **options)
    counting.add_all(blocks, n_items, progress=progress)
    return counting.histogram()


def counter(query: AnyCodes, *, n_items: int | None = None, **options: Unpack[CountOptions]) -> Counter:
    """The counter of ``query`` codes against a database that comes in pieces; the options are those of ``count``."""
    device = options.get("device", "cpu")
    if device != "cpu":
        from hashbench.scoring.histogram import torch_kernel

        return torch_kernel.TorchCounter(query, device)
    kernel = options.get("kernel") or _faster(query.shape, n_items)
    return CpuCounter(on_cpu(query), options.get("workers"), kernel)


class CpuCounter(Counter):
    """Counts with the ``jobs`` of a kernel in a pool of threads."""

    def __init__(self, query: Codes, workers: int | None, kernel: Kernel) -> None:
        super().__init__(query)
        self.query = query
        n_threads = 1  # NumPy's bincount holds the GIL
        if kernel == "numba":
            n_threads = available_cores()
        self.threads = workers or n_threads
        self.jobs = import_module(f"hashbench.scoring.histogram.{kernel}_kernel").jobs
        self.counts: Ints = np.zeros((len(query), query.n_bits + 1, 0), np.int64)

    def _add(self, database: AnyCodes, relevance: Relevance, report: Report) -> None:
        self.counts = widened(self.counts, len(self.levels))
        packed = on_cpu(database)
        with ThreadPoolExecutor(self.threads) as pool:
            for columns in slices(len(packed), block_items(packed.n_bits)):
                parts: Iterable[Job] = self.jobs(relevance, self.query, packed, columns, self.counts)
                for n_pairs in pool.map(lambda job: job(), parts):
                    report(n_pairs)

    def _move(self, queries: Ints, database: AnyCodes, items: Ints) -> None:
        differing = np.bitwise_count(self.query.words[queries] ^ on_cpu(database[items]).words)
        distance: Ints = differing.sum(axis=1, dtype=np.int64)
        np.subtract.at(self.counts[:, :, 0], (queries, distance), 1)
        np.add.at(self.counts[:, :, 1], (queries, distance), 1)

    def _counts(self) -> Ints:
        return self.counts


class _Numba:
    """The state of this process that decides whether it imports the kernels of Numba."""

    words_left = NUMPY_WORDS  # that NumPy compares before: then both have taken equally long


def _faster(query: tuple[int, int], n_items: int | None) -> Kernel:
    """The kernel that ends sooner, the import of Numba included, for ``query`` codes [items, bits]."""
    n_queries, n_bits = query
    if n_items is None:  # there may be many
        _Numba.words_left = -1
    else:
        _Numba.words_left -= n_queries * n_items * -(-n_bits // 64)
    if _Numba.words_left < 0:
        return "numba"
    return "numpy"


def on_cpu(codes: AnyCodes) -> Codes:
    """The codes in NumPy's memory; those on a torch device are copied, packed."""
    if isinstance(codes, Codes):
        return codes
    return codes.to_host()
