"""Lock files, for processes that use the same folder."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hashbench.foundation.errors import HashbenchError, one_line, printable
from hashbench.foundation.files._write import write_text
from hashbench.foundation.progress import note


def is_locked(path: Path) -> bool:
    """Whether a process, perhaps this one, holds the lock file ``path`` at this moment."""
    from filelock import FileLock, Timeout

    if not path.exists():
        return False
    try:
        with FileLock(path).acquire(timeout=0):
            return False
    except Timeout:
        return True
    except (OSError, NotImplementedError):
        return False


@contextmanager
def locked(path: Path, *, wait: bool, busy: str = "", instead: str = "--results") -> Iterator[None]:
    """Holds the lock file ``path`` during the block: one process at a time. A process that dies releases its lock.

    Args:
        path: The lock file. It is created, with its folder, and is not removed afterwards.
        wait: Whether to wait while another process holds the lock.
        busy: The message when another process holds the lock. With ``wait`` it is printed once on stderr (nothing is
            printed if it is empty); without ``wait`` it is the error.
        instead: The option that names another folder; an error about the folder advises it.

    Raises:
        HashbenchError: another process holds the lock and ``wait`` is false, or the file cannot be locked.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if not wait:
                raise HashbenchError(busy) from None
            if busy:
                note(busy)
            lock.acquire(poll_interval=0.1)
    except (OSError, NotImplementedError) as error:
        raise HashbenchError(f"{path}: cannot be locked ({one_line(error)}): name another with {instead}") from None
    try:
        yield
    finally:
        lock.release()


def write_holder(path: Path) -> None:
    """Writes who holds a lock: this process, on this machine, since now."""
    from hashbench.foundation.provenance import utc  # here: it needs pydantic, which takes long to import

    write_text(path, f"process {os.getpid()} of {platform.node()}, since {utc()},")


def holder_in(path: Path) -> str:
    """What ``write_holder`` wrote; "another process" where that cannot be read."""
    try:
        return printable(path.read_text(encoding="utf-8"), 200) or "another process"
    except (OSError, ValueError):
        return "another process"
