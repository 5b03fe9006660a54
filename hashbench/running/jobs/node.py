"""A task on a node of a cluster: the node must have the driver's code, and gets the files that it lacks."""

import hashlib
import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hashbench.foundation import paths, provenance
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.files import atomic, locked, reported
from hashbench.foundation.provenance import Code
from hashbench.running.jobs.task import DriverFile, Input, NodeError, Task

PIECE = 32 << 20  # bytes of a file that travel at once
RESULTS = "results"  # the folder of inputs that a task may write

Reader = Callable[[Path, int, int], bytes]  # reads a piece of a file of the driver's machine


@dataclass(frozen=True)
class Sent:
    """A task on its way to a node, with its files and the ``code`` of the driver's machine."""

    task: Task
    inputs: Sequence[Input]
    code: Code


def run_on_this_node(sent: Sent, read: Reader) -> Any:
    """The result of the task on this machine; raises NodeError, which names the machine, where it cannot be begun."""
    where = f"on {platform.node()}"
    if (code := provenance.code()) != sent.code:  # its results would name code that did not run
        versions = f"this node has hashbench {_shown(code)}, the command has {_shown(sent.code)}"
        raise NodeError(f"{where}: {versions}: install the same on all machines")
    with retold(lambda fault: f"{where}: {fault}", HashbenchError, by=NodeError):
        folder = work_folder()
        for needed in sent.inputs:
            _bring(needed, folder, read)
    return sent.task.run_on_node(folder, {needed.path: folder / needed.place for needed in sent.inputs})


def _shown(code: Code) -> str:
    commit = (code.commit or "no commit")[:10]
    changes = ", changed" if code.dirty else ""
    return f"{code.version} ({commit}{changes})"


def work_folder() -> Path:
    """The folder on this machine that keeps what this user's tasks need: data, and what is unfinished."""
    folder = Path(tempfile.gettempdir()) / f"hashbench-{os.getuid()}"
    with reported(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid() or folder.is_symlink():
            raise HashbenchError(f"{folder}: not a folder of this user: set TMPDIR to another one")
    return folder


def _bring(needed: Input, folder: Path, read: Reader) -> None:
    """Puts the file in its place: a link to a file of this machine with that content, else a copy is sent."""
    file = needed.file
    place = folder / needed.place
    with reported(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place.with_name(f"{place.name}.lock"), wait=True, instead="TMPDIR"):
        if _is(place, file):
            return
        with reported(place):
            place.unlink(missing_ok=True)  # a link would be followed, and the machine's own file be written
            kind, _, name = needed.place.partition("/")
            places_here = (paths.data() / name, file.path)  # the second: a disk that it shares with the driver
            if kind != RESULTS and (path := next((path for path in places_here if _is(path, file)), None)):
                place.symlink_to(path)
                return
        _receive(file, place, read)


def _is(path: Path, file: DriverFile) -> bool:
    try:
        return path.stat().st_size == file.n_bytes and DriverFile.at(path).sha256 == file.sha256
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
