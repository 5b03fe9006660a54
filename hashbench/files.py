"""Files that are written as a whole or not at all, and lock files for processes that use the same folder."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hashbench.errors import HashbenchError, one_line
from hashbench.progress import note


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside ``path``.

    If the block succeeds, the temporary file replaces ``path``; if it raises, the temporary file is removed. So a
    reader never sees a file that is half written.
    """
    if path.is_dir():
        raise HashbenchError(f"{path}: a folder; the file to be written is expected")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files that only this user can read
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` to ``path`` as UTF-8, as a whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def require_writable(folder: Path, free_bytes: int = 64 << 20, instead: str = "--results") -> None:
    """Raises HashbenchError unless ``folder`` can be created and written to and has ``free_bytes`` free.

    It is called before training, so that hours of work are not lost. The error advises the option ``instead``, which
    names another folder.
    """
    probe = folder / f".write-test-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"\0" * 4096)
        stat = os.statvfs(folder)
    except OSError as error:
        raise HashbenchError(f"{folder}: cannot be written ({error.strerror}): name another with {instead}") from None
    finally:
        with suppress(OSError):  # an error of the checks above is already on its way to the user
            probe.unlink(missing_ok=True)
    if stat.f_bavail * stat.f_frsize < free_bytes:
        raise HashbenchError(
            f"{folder}: less than {free_bytes >> 20} MiB free: make room or name another with {instead}"
        )


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
