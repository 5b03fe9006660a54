"""Files that are written as a whole or not at all, whether they can be written, and lock files."""

import csv
import errno
import glob
import hashlib
import lzma
import os
import platform
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from filelock import FileLock, Timeout

from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.progress import note

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
STREAM = re.compile(r"/dev/(std|fd/)|/proc/")  # a stream of the process under the name of a file


@dataclass(frozen=True)
class _Output:
    """A written temporary file, the path that the user named, and the end of that path's symbolic links."""

    temporary: Path
    path: Path
    place: Path


# what an ``all_or_none`` block has written so far; None outside of one
_waiting: ContextVar[list[_Output] | None] = ContextVar("waiting", default=None)


@contextmanager
def all_or_none() -> Iterator[None]:
    """The outputs that the block writes get their names when it ends: all of them or, if anything fails, none.

    Until then each is a temporary file beside its place, so the block cannot read what it has written. Within another
    such block the outer one decides. Other processes that the block starts write for themselves.
    """
    if _waiting.get() is not None:
        yield
        return
    outputs: list[_Output] = []
    token = _waiting.set(outputs)
    try:
        yield
        _finish(outputs)
    finally:
        _waiting.reset(token)
        for output in outputs:
            output.temporary.unlink(missing_ok=True)


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yields the path of a temporary file; what the block writes to it goes to ``path``, whole or, if it fails, not.

    A symbolic link is followed and stays; an existing file keeps its mode. Raises HashbenchError if
    ``path`` is a folder, a device or a pipe, or cannot be written.
    """
    place = resolved(path)
    _require_file(path, place)
    folder = place.parent
    with reported(path, DISK_ERRORS):
        with reported(path):
            with suppress(FileExistsError):  # not a folder: the next line says what is wrong with it
                folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=folder, prefix=part_prefix(place.name), suffix=".part")
        temporary = Path(name)
        os.close(handle)
        with ExitStack() as on_exit:
            on_exit.callback(temporary.unlink, missing_ok=True)
            yield temporary
            output = _Output(temporary, path, place)
            waiting = _waiting.get()
            if waiting is None:
                _finish([output])
            else:
                waiting.append(output)
                on_exit.pop_all()  # the block of all_or_none removes it


@contextmanager
def reported(path: Path, only: frozenset[int] | None = None) -> Iterator[None]:
    """Raises a system error (with ``only``: one of these) in the block as a HashbenchError that names the output."""
    try:
        yield
    except Exception as error:  # HDF5 and safetensors have types of their own
        number = _number(error)
        if number is None or (only is not None and number not in only):
            raise
        advice = "write elsewhere"
        if number in DISK_ERRORS:
            advice = "make room or write elsewhere"
        raise HashbenchError(f"{path}: cannot be written ({os.strerror(number)}): {advice}") from error


def _number(error: Exception) -> int | None:
    """The number of a system error, which some libraries put into the text of another error; None for other errors."""
    if isinstance(error, OSError):
        return error.errno
    number = re.search(r"\b(?:errno =|os error) (\d+)", str(error))
    if number is None or isinstance(error, HashbenchError):
        return None
    return int(number[1])


def _finish(outputs: Sequence[_Output]) -> None:
    """Gives all outputs their names, once everything that a full disk can stop is done."""
    for output in outputs:
        with reported(output.path):
            _prepare(output.temporary, output.place)
    for output in outputs:
        with reported(output.path):
            output.temporary.replace(output.place)


def _prepare(temporary: Path, place: Path) -> None:
    """Brings ``temporary`` to the disk, and gives it the mode of ``place``, or a new file's."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    if place.exists():
        temporary.chmod(stat.S_IMODE(place.stat().st_mode))
    else:
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files that only this user can read


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` to ``path`` as UTF-8, packed where its name ends with .xz, as a whole or not at all."""
    content = text.encode()
    if path.suffix == ".xz":
        content = lzma.compress(content)
    write_bytes(path, content)


def write_bytes(path: Path, content: bytes) -> None:
    """Writes ``content`` to ``path``, as a whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_bytes(content)


def csv_text(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """The text of a CSV file; None is blank."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()


def require_output(path: Path, instead: str = "--out") -> None:
    """Raises HashbenchError unless ``path`` can be an output."""
    place = resolved(path)
    _require_file(path, place)
    require_writable(place.parent, instead=instead)


def _require_file(path: Path, place: Path) -> None:
    """Raises HashbenchError where a folder, a device or a pipe is in the ``place`` that ``path`` leads to.

    /dev/stdout may lead to a file, which would be replaced while the process goes on to write into the old one.
    """
    if STREAM.match(str(path)) or (place.exists() and not place.is_file()):
        raise HashbenchError(f"{path}: a folder, a device or a pipe; the file to be written is expected")


def require_new(folder: Path) -> None:
    """Raises HashbenchError unless ``folder`` is new or empty, and can be written."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise HashbenchError(f"{folder}: exists and is no empty folder: remove it, or name another with --out")
    require_writable(resolved(folder).parent, instead="--out")


def require_writable(folder: Path, free_bytes: int = 64 << 20, instead: str = "--results") -> None:
    """Raises HashbenchError, before hours of work, unless ``folder`` can be written to and has ``free_bytes`` free."""
    probe = folder / f"{part_prefix('write-test')}12345678.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"\0" * 4096)
        volume = os.statvfs(folder)
    except OSError as error:
        raise HashbenchError(f"{folder}: cannot be written ({error.strerror}): name another with {instead}") from None
    finally:
        with suppress(OSError):  # an error of the checks above is already on its way to the user
            probe.unlink(missing_ok=True)
    if volume.f_bavail * volume.f_frsize < free_bytes:
        fault = f"less than {free_bytes >> 20} MiB free"
        raise HashbenchError(f"{folder}: {fault}: make room or name another with {instead}")


def require_apart(inputs: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Raises HashbenchError if an output file would replace another one or an input file."""
    places = [resolved(path) for path in outputs]
    for path, place in zip(outputs, places, strict=True):
        if places.count(place) > 1 or place in map(resolved, inputs):
            raise HashbenchError(f"{path}: named twice, as an input or an output; each output needs a file of its own")


def part_prefix(name: str) -> str:
    """The beginning of the name of a temporary file for ``name``; 8 characters follow."""
    return f".{name[:100]}.hashbench-"


def remove_parts(folder: Path, name: str | None = None) -> None:
    """Removes all temporary files in ``folder``, or those for ``name``; the caller holds the lock of their writer."""
    pattern = ".*.part"
    if name is not None:
        pattern = f".{glob.escape(name)}.*.part"
    for left in folder.glob(pattern):
        left.unlink()


def resolved(path: Path) -> Path:
    """The absolute path without symbolic links; links in a circle stay, and whatever opens the path refuses them."""
    return Path(os.path.realpath(path))  # Path.resolve raises RuntimeError for a circle


def file_sha256(path: Path) -> str:
    """SHA-256 (hex) of the bytes of a file; raises OSError where it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def matching(pattern: str) -> list[Path]:
    """The files that a pattern matches, in no order; ``**`` matches any folders."""
    return [path for path in map(Path, glob.glob(pattern, recursive=True)) if path.is_file()]  # noqa: PTH207


def natural(path: Path) -> list[tuple[int, str]]:
    """The key that sorts names as people do: db-2 before db-10."""
    parts = re.split(r"([0-9]+)", str(path))
    return [(int(part) if part.isdecimal() else -1, part) for part in parts]


def is_locked(path: Path) -> bool:
    """True where a process, perhaps this one, holds the lock file ``path`` at this moment."""
    try:
        if path.exists():
            FileLock(path).acquire(timeout=0).lock.release()
    except (OSError, NotImplementedError) as error:
        return isinstance(error, Timeout)
    return False


@contextmanager
def locked(path: Path, *, wait: bool, busy: str = "", instead: str = "--results") -> Iterator[None]:
    """Holds the lock file ``path`` in the block; where another process does, waits and says ``busy``, or raises it."""
    lock = FileLock(path)
    unusable = retold(
        lambda cause: f"{path}: cannot be locked ({cause}): make its folder writable, or name a copy with {instead}",
        OSError,
        NotImplementedError,
    )
    with unusable:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:  # a process that dies releases its lock
            lock.acquire(timeout=0)
        except Timeout:
            if not wait:
                raise HashbenchError(busy) from None
            if busy:
                note(busy)
            lock.acquire(poll_interval=0.1)
    try:
        yield
    finally:
        lock.release()


def write_holder(path: Path) -> None:
    """Writes who holds a lock: this process, on this machine, since now."""
    from hashbench.foundation.provenance import utc  # here: it needs pydantic, which takes long to import

    write_text(path, f"process {os.getpid()} of {platform.node()}, since {utc()},")


def holder_in(path: Path) -> str:
    """The text that ``write_holder`` wrote; "another process" where it cannot be read."""
    try:
        return printable(path.read_text(encoding="utf-8"), 200) or "another process"
    except (OSError, ValueError):
        return "another process"
