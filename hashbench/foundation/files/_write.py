"""Files that are written as a whole or not at all."""

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files._links import descriptor, followed, is_stream
from hashbench.foundation.files._parts import part_prefix, sweep_parts

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yields the path of a temporary file; what the block writes to it goes to ``path``.

    A symbolic link is followed and stays. A regular file, or none, is replaced as a whole if the block succeeds, so a
    reader never sees a file that is half written; an existing file keeps its owner and its mode. A device, a pipe or a
    descriptor such as /dev/stdout is written to. The temporary file is removed in any case.

    Raises:
        HashbenchError: ``path`` is a folder, or nothing can be written there.
    """
    place = followed(path)
    if place.is_dir():
        raise HashbenchError(f"{path}: a folder; the file to be written is expected")
    finish = _copy if is_stream(place) else _replace
    with reported(path, DISK_ERRORS), _temporary(path, place, finish is _copy) as temporary:
        yield temporary
        with reported(path):
            finish(temporary, place)


@contextmanager
def reported(path: Path, only: frozenset[int] | None = None) -> Iterator[None]:
    """Raises an error of the system in the block as a HashbenchError that names the output ``path``.

    With ``only`` these numbers: others may be about what the block reads.
    """
    try:
        yield
    except Exception as error:  # HDF5 and safetensors have types of their own
        number = _number(error)
        to_descriptor = number == errno.EPIPE and descriptor(followed(path)) is not None
        if to_descriptor or number is None or (only is not None and number not in only):
            raise  # the command line ends silently when the reader of its output has gone
        advice = "make room or write elsewhere" if number in DISK_ERRORS else "write elsewhere"
        reason = os.strerror(number)
        raise HashbenchError(f"{path}: cannot be written ({reason}): {advice}") from error


def _number(error: Exception) -> int | None:
    """The number of a system error, which some libraries put into the text of another error; None for other errors."""
    if isinstance(error, OSError):
        return error.errno
    found = None if isinstance(error, HashbenchError) else re.search(r"\b(?:errno =|os error) (\d+)", str(error))
    return int(found[1]) if found else None


@contextmanager
def _temporary(path: Path, place: Path, elsewhere: bool) -> Iterator[Path]:
    """A hidden file beside ``place``, or ``elsewhere``, in the folder of the system; it is removed after the block."""
    folder = Path(tempfile.gettempdir()) if elsewhere else place.parent
    with reported(path):
        with suppress(FileExistsError):  # not a folder: the next line says what is wrong with it
            folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=part_prefix(place.name), suffix=".part")
    now = os.fstat(handle).st_mtime
    os.close(handle)
    sweep_parts(folder, now)
    temporary = Path(name)
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _replace(temporary: Path, place: Path) -> None:
    """Gives ``temporary`` the owner and the mode of ``place``, or those of a new file, and its name."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    try:
        old = place.stat()
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files that only this user can read
    else:
        with suppress(OSError):  # only root may give a file to somebody else
            os.chown(temporary, old.st_uid, old.st_gid)
        temporary.chmod(stat.S_IMODE(old.st_mode))
    temporary.replace(place)


def _copy(temporary: Path, place: Path) -> None:
    """Writes the bytes of ``temporary`` to a device or pipe, or through a descriptor where its last write ended."""
    number = descriptor(place)
    if number is not None:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    opened = place if number is None else os.dup(number)
    with temporary.open("rb") as source, open(opened, "wb") as target:  # noqa: PTH123  (a descriptor is no path)
        shutil.copyfileobj(source, target)


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` to ``path`` as UTF-8, as a whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
