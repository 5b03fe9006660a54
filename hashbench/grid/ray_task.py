"""What a node of a Ray cluster does: it fetches the files of a run, executes it, and returns its row and its files."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import rmtree

from hashbench import paths
from hashbench.errors import HashbenchError
from hashbench.files import atomic, locked, reported
from hashbench.grid.crew import Crew, TookTooLong
from hashbench.grid.execute import Execution, execute, output_of
from hashbench.grid.files_of_run import NeededFile, checksum, files_of
from hashbench.grid.outcome import Outcome
from hashbench.grid.worker import Died
from hashbench.runs import provenance
from hashbench.runs.options import Options
from hashbench.runs.spec import RunSpec
from hashbench.runs.store import Code, Store

PIECE = 32 << 20  # bytes of a file that travel at once

Reader = Callable[[Path, int, int], bytes]  # reads a piece of a file of the machine that started the grid


@dataclass(frozen=True)
class Task:
    """A run, what it needs, and how it is executed; ``code`` is that of the machine that started the grid."""

    spec: RunSpec
    files: Sequence[NeededFile]
    options: Options
    processes: int
    timeout_s: float | None
    code: Code


@dataclass(frozen=True)
class Result:
    """How the run ended, and its working files by name; ``is_failure``: a row is to say that it failed."""

    outcome: Outcome
    files: dict[str, bytes]
    is_failure: bool = False


def do(task: Task, read: Reader, cores: int) -> Result:
    """Executes the run on this machine, whose own data and results are left as they are."""
    try:
        _require_same_code(task.code)
        folder = _work_folder()
        for file in task.files:
            _bring(file, folder / file.folder / file.name, read)
    except HashbenchError as error:
        return Result(Outcome(task.spec, None, str(error)), {})
    store = Store(folder / "results")
    outcome = _executed(task, store, cores)
    if isinstance(outcome, TookTooLong):
        return Result(Outcome(task.spec, None, str(outcome)), {}, is_failure=True)
    if outcome.row is None:
        return Result(outcome, {})
    files = files_of(task.spec.run, store)
    rmtree(store.run_folder(task.spec.run), ignore_errors=True)
    with suppress(OSError):  # a second run of this node would find it
        store.row_path(task.spec.dataset, task.spec.protocol, task.spec.run).unlink()
    return Result(outcome, files)


def _require_same_code(code: Code) -> None:
    """Raises HashbenchError if this machine has another hashbench: its rows would name code that did not run."""
    own = provenance.code()
    if own != code:
        raise HashbenchError(f"this node has hashbench {_shown(own)}, the grid is of {_shown(code)}: install the same")


def _shown(code: Code) -> str:
    return f"{code.version} ({(code.commit or 'no commit')[:10]}{', changed' if code.dirty else ''})"


def _work_folder() -> Path:
    """The folder on this machine that keeps what the cluster's runs of this user need: data, and unfinished runs."""
    folder = Path(tempfile.gettempdir()) / f"hashbench-{os.getuid()}"
    with reported(folder):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid != os.getuid() or folder.is_symlink():
            raise HashbenchError(f"{folder}: not a folder of this user: set TMPDIR to another one")
    return folder


def _bring(file: NeededFile, place: Path, read: Reader) -> None:
    """Puts the file in its place: a link to this machine's own where its content is the same, else a copy is sent."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with locked(place.with_name(f"{place.name}.lock"), wait=True):
        if _is(place, file):
            return
        for own in (paths.data() / file.name, file.path):  # the second: the machines may share a disk
            if file.folder == "data" and _is(own, file):
                with atomic(place) as link:
                    link.unlink(missing_ok=True)
                    link.symlink_to(own)
                return
        _receive(file, place, read)


def _is(path: Path, file: NeededFile) -> bool:
    try:
        stat = path.stat()
        return stat.st_size == file.n_bytes and checksum(path, stat.st_size, stat.st_mtime_ns) == file.sha256
    except OSError:
        return False


def _receive(file: NeededFile, place: Path, read: Reader) -> None:
    digest = hashlib.sha256()
    with reported(place), atomic(place) as temporary, temporary.open("wb") as target:
        for start in range(0, file.n_bytes, PIECE):
            piece = read(file.path, start, min(PIECE, file.n_bytes - start))
            digest.update(piece)
            target.write(piece)
        if digest.hexdigest() != file.sha256:
            raise HashbenchError(f"{file.path}: changed while the grid ran: start it again")


def _executed(task: Task, store: Store, cores: int) -> Outcome | TookTooLong:
    """How the run ended in a process of its own; where that one dies, an error is raised and Ray tries again."""
    environment = {"HASHBENCH_DATA": str(store.folder.parent / "data"), "OMP_NUM_THREADS": str(cores)}
    how = Execution(store, replace(task.options, progress=True), task.processes)
    with closing(Crew[RunSpec]([environment], task.timeout_s)) as crew:
        crew.give(task.spec, partial(execute, task.spec, how), output_of(task.spec, store))
        ((_, found),) = crew.ended()
    if isinstance(found, Died) and not isinstance(found, TookTooLong):
        raise found
    ended: Outcome | TookTooLong = found
    return ended
