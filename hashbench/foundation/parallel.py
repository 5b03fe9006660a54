"""Divides work: slices of rows, the cores that there are."""

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import parent_process
from typing import TypeVar

from threadpoolctl import threadpool_limits

T = TypeVar("T")

N_THREADS = "OMP_NUM_THREADS"  # read by OpenMP, OpenBLAS and MKL when they are loaded


def slices(length: int, size: int) -> Iterator[slice]:
    """The slices of ``size``, the last one shorter, that together are 0 .. ``length`` - 1."""
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))


def available_cores() -> int:
    """The number of threads that may compute in this process: the cores it may run on, or fewer by OMP_NUM_THREADS."""
    chosen = re.match(r"\s*0*([1-9]\d*)", os.environ.get(N_THREADS, ""))  # "4,2" is valid: 4, and 2 inside each
    if not chosen:
        return _cores()
    return min(_cores(), int(chosen[1]))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share_cores(n_processes: int) -> None:
    """Gives this process, and those that it starts, its share of the cores where ``n_processes`` run side by side."""
    share = max(1, min(available_cores(), _cores() // n_processes))
    os.environ[N_THREADS] = str(share)
    threadpool_limits(share)


@contextmanager
def training_threads(n: int = 1) -> Iterator[None]:
    """During the block BLAS has one thread, and OpenMP and PyTorch have ``n``, whatever the environment says.

    Threads share a sum, and the number of parts changes its rounding. So each run has the same number, alone or beside
    others. PyTorch has to be imported before if it is used.
    """
    import scipy.linalg  # noqa: F401  (it brings a BLAS of its own, which is limited only once it is loaded)

    torch = None
    if "torch" in sys.modules:
        torch = import_module("torch")  # it waits for a thread that imports it
    before = None if torch is None else torch.get_num_threads()
    with threadpool_limits({"blas": 1, "openmp": n}):
        if torch is not None:
            torch.set_num_threads(n)
        try:
            yield
        finally:
            if torch is not None:
                torch.set_num_threads(before)


def prepare_threads() -> None:
    """Before any import: idle threads of OpenMP sleep, unless OMP_WAIT_POLICY is set; BLAS of macOS has one thread."""
    # a spinning thread may take the core from the thread it waits for (benchmarks/threads.py)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ["VECLIB_MAXIMUM_THREADS"] = "1"  # Apple's Accelerate reads it when it is loaded, and nothing later


def end_with_parent() -> None:
    """Ends this process, with the group that it leads, as soon as its parent has ended, even if it was killed."""

    def end() -> None:
        assert parent is not None
        parent.join()
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)  # sys.exit would end the thread alone

    parent = parent_process()
    if parent is not None:
        threading.Thread(target=end, daemon=True).start()
