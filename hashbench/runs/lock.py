"""The lock of a run's folder: one process executes a run, and others wait for its row."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hashbench.foundation.errors import printable
from hashbench.foundation.files import is_locked, locked, remove_parts, write_text
from hashbench.runs import provenance
from hashbench.runs.spec import RunSpec
from hashbench.runs.store import Store

LOCK, HOLDER = "lock", "lock-holder.txt"  # who holds the lock is in a file of its own: the lock file is emptied


@contextmanager
def locked_folder(folder: Path, *, wait: bool) -> Iterator[None]:
    """Holds the lock of a run's folder during the block; says on stderr for whom it waits, if it has to wait.

    Raises HashbenchError if another process holds the lock and ``wait`` is false.
    """
    holder = folder / HOLDER
    busy = f"{folder}: {holder_in(holder)} executes this run"
    waiting = f"note: {busy}: waiting for its result"
    with locked(folder / LOCK, wait=wait, busy=waiting if wait else f"{busy}: wait for it"):
        remove_parts(folder)
        write_holder(holder)
        yield


def is_held(spec: RunSpec, store: Store) -> bool:
    """Whether another process executes the run at this moment."""
    return is_locked(store.run_folder(spec.run) / LOCK)


def write_holder(path: Path) -> None:
    """Writes who holds a lock: this process, on this machine, since now."""
    write_text(path, f"process {os.getpid()} of {platform.node()}, since {provenance.utc()},")


def holder_in(path: Path) -> str:
    """What ``write_holder`` wrote; "another process" where that cannot be read."""
    try:
        return printable(path.read_text(encoding="utf-8"), 200) or "another process"
    except (OSError, ValueError):
        return "another process"
