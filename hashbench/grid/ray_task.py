"""What a node of a Ray cluster does: it fetches the files of a run, executes it, and returns its row and its files."""

import platform
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import rmtree

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.provenance import Code
from hashbench.grid.crew import Crew, TookTooLong
from hashbench.grid.execute import Execution, execute, output_of
from hashbench.grid.files_of_run import NeededFile, files_of
from hashbench.grid.node import Reader, bring, require_same_code, work_folder
from hashbench.grid.outcome import Outcome
from hashbench.grid.worker import Died
from hashbench.runs.options import Options
from hashbench.runs.run import Run
from hashbench.runs.store import Store


@dataclass(frozen=True)
class Task:
    """A run, what it needs, and how it is executed; ``code`` is that of the machine that started the grid."""

    spec: Run
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
        require_same_code(task.code)
        folder = work_folder()
        for needed in task.files:
            _bring(needed, folder, read)
    except HashbenchError as error:
        return Result(_failed_here(task.spec, str(error)), {})
    store = Store(folder / "results")
    outcome = _executed(task, store, cores)
    if isinstance(outcome, TookTooLong):
        return Result(Outcome(task.spec, None, str(outcome)), {}, is_failure=True)
    if outcome.row is None:
        return Result(_failed_here(task.spec, str(outcome.error)), {})
    files = files_of(task.spec.run, store)
    rmtree(store.run_folder(task.spec.run), ignore_errors=True)
    with suppress(OSError):  # a second run of this node would find it
        store.row_path(task.spec.dataset, task.spec.protocol, task.spec.run).unlink()
    return Result(outcome, files)


def _failed_here(spec: Run, error: str) -> Outcome:
    """The outcome of a run without a row: it may be the fault of this machine, which is named."""
    return Outcome(spec, None, f"on {platform.node()}: {error}")


def _bring(needed: NeededFile, folder: Path, read: Reader) -> None:
    """Puts the file where a run that works in ``folder`` looks for it."""
    is_data = needed.folder == "data"  # what belongs to the results would be written through a link
    own = (paths.data() / needed.name, needed.file.path) if is_data else ()  # the second: a disk that they share
    bring(needed.file, folder / needed.folder / needed.name, own, read)


def _executed(task: Task, store: Store, cores: int) -> Outcome | TookTooLong:
    """How the run ended in a process of its own; where that one dies, an error is raised and Ray tries again."""
    environment = {"HASHBENCH_DATA": str(store.folder.parent / "data"), "OMP_NUM_THREADS": str(cores)}
    how = Execution(store, replace(task.options, progress=True), task.processes)
    with closing(Crew[Run]([environment], task.timeout_s)) as crew:
        crew.give(task.spec, partial(execute, task.spec, how), output_of(task.spec, store))
        ((_, found),) = crew.ended()
    if isinstance(found, Died) and not isinstance(found, TookTooLong):
        raise found
    ended: Outcome | TookTooLong = found
    return ended
