"""What a node of a cluster does before its work: it has the driver's code, and brings the files that it lacks."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hashbench.foundation import provenance
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic, file_sha256, locked, reported
from hashbench.foundation.provenance import Code

PIECE = 32 << 20  # bytes of a file that travel at once

Reader = Callable[[Path, int, int], bytes]  # reads a piece of a file of the driver's machine


@dataclass(frozen=True)
class DriverFile:
    """A file on the driver's machine: its whole path, its size and the checksum of its content."""

    path: Path
    n_bytes: int
    sha256: str

    @staticmethod
    def at(path: Path) -> "DriverFile":
        """The file at ``path`` on this machine, which is the driver's."""
        stat = path.stat()
        return DriverFile(path.resolve(), stat.st_size, checksum(path, stat.st_size, stat.st_mtime_ns))


@lru_cache(maxsize=1024)
def checksum(path: Path, n_bytes: int, mtime_ns: int) -> str:  # noqa: ARG001  (a changed file is read again)
    """The SHA-256 (hex) of a file, kept while its size and its time stay the same."""
    return file_sha256(path)


def require_same_code(code: Code) -> None:
    """Raises HashbenchError if this machine has another hashbench: its results would name code that did not run."""
    own = provenance.code()
    if own != code:
        raise HashbenchError(
            f"this node has hashbench {_shown(own)}, the command is of {_shown(code)}: install the same"
        )


def _shown(code: Code) -> str:
    return f"{code.version} ({(code.commit or 'no commit')[:10]}{', changed' if code.dirty else ''})"


def work_folder() -> Path:
    """The folder on this machine that keeps what this user's tasks need: data, and what is unfinished."""
    folder = Path(tempfile.gettempdir()) / f"hashbench-{os.getuid()}"
    with reported(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid() or folder.is_symlink():
            raise HashbenchError(f"{folder}: not a folder of this user: set TMPDIR to another one")
    return folder


def bring(file: DriverFile, place: Path, own: Iterable[Path], read: Reader) -> None:
    """Puts the file in its place: a link to one of this machine's ``own`` with that content, else a copy is sent."""
    with reported(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place.with_name(f"{place.name}.lock"), wait=True, instead="TMPDIR"):
        if _is(place, file):
            return
        with reported(place):
            place.unlink(missing_ok=True)  # a link would be followed, and the machine's own file be written
            for path in own:
                if _is(path, file):
                    place.symlink_to(path)
                    return
        _receive(file, place, read)


def _is(path: Path, file: DriverFile) -> bool:
    try:
        stat = path.stat()
        return stat.st_size == file.n_bytes and checksum(path, stat.st_size, stat.st_mtime_ns) == file.sha256
    except OSError:
        return False


def _receive(file: DriverFile, place: Path, read: Reader) -> None:
    digest = hashlib.sha256()
    with reported(place), atomic(place) as temporary, temporary.open("wb") as target:
        for start in range(0, file.n_bytes, PIECE):
            piece = read(file.path, start, min(PIECE, file.n_bytes - start))
            digest.update(piece)
            target.write(piece)
        if digest.hexdigest() != file.sha256:
            raise HashbenchError(f"{file.path}: changed while the command ran: start it again")
