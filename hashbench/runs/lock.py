"""The lock of a run's folder: one process executes a run, and others wait for its row."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hashbench.foundation.files import holder_in, is_locked, locked, remove_parts, write_holder
from hashbench.runs.run import Run
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


def is_held(spec: Run, store: Store) -> bool:
    """Whether another process executes the run at this moment."""
    return is_locked(store.run_folder(str(spec.name)) / LOCK)
