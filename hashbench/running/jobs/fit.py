"""How many tasks fit side by side on this machine, from the memory that the first of them took."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hashbench.foundation.parallel import available_cores
from hashbench.foundation.progress import note
from hashbench.foundation.provenance import peak_memory
from hashbench.running.jobs.task import Postponed, Task

SHARE = 0.9  # of the free memory that the tasks may take together
CONTEXT = 600 << 20  # bytes of a GPU that a process takes besides its tensors
GIB = 1 << 30


@dataclass(frozen=True)
class Usage:
    """The most bytes that the process of a task has held; of a GPU also what it could have held."""

    memory: int | None  # None: the system does not say it
    gpu: int = 0
    gpu_free: int = 0


@dataclass(frozen=True)
class Measured(Task):
    """A task whose result is (result, ``Usage``), done by a process that did nothing before."""

    task: Task

    @property
    def name(self) -> str:
        """Its name."""
        return self.task.name

    @property
    def output(self) -> Path | None:
        """The file of what it prints."""
        return self.task.output

    def run(self) -> Any:
        """The result and the usage; a task that is postponed has none."""
        result = self.task.run()
        if isinstance(result, Postponed):
            return result
        return result, usage()


def usage() -> Usage:
    """What this process has used so far."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return Usage(peak_memory())
    reserved = torch.cuda.memory_reserved()
    return Usage(peak_memory(), torch.cuda.max_memory_reserved(), torch.cuda.mem_get_info()[0] + reserved)


def jobs_that_fit(first: Usage, n_gpus: int) -> int:
    """How many tasks that use as much as the ``first`` fit beside each other; a note says it. At least one."""
    limits = [available_cores()]
    parts = list[str]()
    if first.memory is not None:
        limits.append(int(SHARE * available_memory() / first.memory))
        parts.append(f"{first.memory / GIB:.1f} GiB of memory")
    if first.gpu:
        on_one = int(SHARE * first.gpu_free / (first.gpu + CONTEXT))
        limits.append(max(1, n_gpus) * on_one)
        parts.append(f"{(first.gpu + CONTEXT) / GIB:.1f} GiB of a GPU")
    jobs = max(1, min(limits))
    taken = " and ".join(parts) or "memory that the system does not tell"
    note(f"note: the first run took {taken}: {jobs} run at the same time, on {available_cores()} cores")
    return jobs


def available_memory() -> int:
    """The bytes of memory that processes can still take without swapping; all bytes where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        available = next(line for line in lines if line.startswith("MemAvailable:"))
        return 1024 * int(available.split()[1])
    except (OSError, StopIteration):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
