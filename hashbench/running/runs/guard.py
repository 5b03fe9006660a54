"""One execution of each run: the stored row and hasher, the lock of its folder, failed rows."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hashbench.foundation import provenance
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.execution import DEFAULT, Execution
from hashbench.foundation.files import require_writable, write_text
from hashbench.foundation.parallel import training_threads
from hashbench.learning.contract import CODES, NO_CODES, BitSettings, DamagedHasher, Hasher, SavedHasher, TrainingFailed
from hashbench.running.runs.command import PROGRAM, train_command
from hashbench.running.runs.data import open_data, require_supervision
from hashbench.running.runs.execute import FITTED, encode, execute, scored
from hashbench.running.runs.interrupted import CONFIG
from hashbench.running.runs.needs import require_pytorch
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store


def row_of(run: Run, store: Store, execution: Execution = DEFAULT, *, again: bool = False) -> Row:
    """The stored row of ``run``, or one that is executed (``again``: in any case), under a lock, and stored.

    Raises TimeIsOver where ``execution.stop_at`` comes first: it can go on from its last checkpoint.
    """
    require_supervision(run)
    provenance.code()  # cached now: the source tree may change while the run takes hours
    row = stored_row(run, store)
    if row is not None and not again:
        return row
    require_pytorch(run)
    folder = store.run_folder(str(run.name))
    for written in (folder, store.rows_folder):
        require_writable(written)
    names = (run.name.dataset, run.name.protocol, str(run.name))
    before = store.find(*names)
    with store.run_lock(str(run.name), wait=True):
        row = store.find(*names)
        stored = stored_row(run, store)
        hasher = None
        if again:
            (folder / FITTED).unlink(missing_ok=True)  # a saved hasher would be loaded
        elif stored is not None:
            return stored
        elif row is not None and row.status == "failed" and row != before:
            return row  # of the process that was waited for
        elif row is not None and row.status == "ok":
            hasher = load_saved(run, store, execution.device)
        if row is None or hasher is None:
            row = _executed(run, store, execution)
        else:
            data = open_data(run, execution)
            with training_threads(execution.threads):
                output = encode(hasher, data, execution)
            output.save(folder)
            row = row.model_copy(update=scored(output, data, folder, execution))
        if stored is None:
            store.write(row)
    return row


def stored_row(run: Run, store: Store) -> Row | None:
    """The stored row of a run; None if there is none, if it failed, or if it lacks a search that is asked for."""
    row = store.find(run.name.dataset, run.name.protocol, str(run.name))
    if row is None or row.status != "ok" or not run.is_filled_by(row):
        return None
    return row


def base_hasher(run: Run, store: Store, execution: Execution) -> Hasher:
    """The hasher of a base run: saved, or executed now, once for all that need it. TrainingFailed if that fails."""
    with store.run_lock(str(run.name), wait=True):
        row = stored_row(run, store)
        if row is None or (hasher := load_saved(run, store, execution.device)) is None:
            again = _executed(run, store, execution)
            if row is None:
                store.write(again)
            if again.status != "ok":
                raise TrainingFailed(f"{run.name}, which it starts from, failed: {again.reason}")
            hasher = load_saved(run, store, execution.device)
    assert hasher is not None, "a run that did not fail has saved its hasher"
    return hasher


def is_saved(run: Run, store: Store) -> bool:
    """Whether the hasher of a run, and those that it starts from, are saved."""
    saved = any(store.run_folder(str(run.name)).glob("hasher.*"))  # every hasher saves such a file
    return saved and (run.base is None or is_saved(run.base, store))


def load_saved(run: Run, store: Store, device: str) -> Hasher | None:
    """The saved hasher of a run; None if its working files, or those of its base, are missing."""
    if not is_saved(run, store):
        return None
    base = None
    if run.base is not None:
        base = load_saved(run.base, store, device)
    return run.method.load(run.settings, SavedHasher(store.run_folder(str(run.name)), device, base))


def load_hasher(
    row: Row, store: Store, device: str = "auto", program: Sequence[str] = PROGRAM, run: Run | None = None
) -> Hasher:
    """The hasher of a stored run; if it is missing or damaged HashbenchError, with the command that makes it.

    ``run`` is that of the row where it is known, else it is made of the row.
    """
    if row.status != "ok":
        command = train_command(row, program)
        raise HashbenchError(f"{row.run}: this run failed ({row.reason}); this tries it again: {command}")
    with retold(lambda damage: str(not_here(row, store, program, damage)), DamagedHasher):
        hasher = load_saved(run or Run.from_row(row), store, device)
    if hasher is None:
        raise not_here(row, store, program)
    return hasher


def codes_file(row: Row, store: Store, program: Sequence[str] = PROGRAM) -> Path:
    """The file with the codes of a stored run; HashbenchError if it is missing or none are binary."""
    run = Run.from_row(row)
    if run.method.group == "quantisation":
        raise HashbenchError(f"{row.run}: {NO_CODES}")
    if not isinstance(run.settings, BitSettings):
        raise HashbenchError(f"{row.run}: its codes are not binary; hashbench encode and hashbench index search them")
    if not (path := store.run_folder(row.run) / CODES).exists():
        raise not_here(row, store, program)
    return path


def not_here(row: Row, store: Store, program: Sequence[str] = PROGRAM, fault: str = "") -> HashbenchError:
    """The error where working files of a stored run are missing, or of another ``fault``, with the remedy."""
    fault = fault or f"{store.run_folder(row.run)}: the working files of this run are not here"
    return HashbenchError(f"{fault}: this trains it again: {train_command(row, program, again=True)}")


def _executed(run: Run, store: Store, execution: Execution) -> Row:
    folder = store.run_folder(str(run.name))
    config = json.dumps({**run.name.config, "seed": run.name.seed}, indent=1, sort_keys=True)
    is_first = not (folder / CONFIG).exists()
    write_text(folder / CONFIG, f"{config}\n")
    before = set(folder.iterdir())
    try:
        base = None
        if run.base is not None:
            base = partial(base_hasher, run.base, store, execution)
        return execute(run, folder, execution, base)
    except HashbenchError:
        if is_first and set(folder.iterdir()) == before:  # refused before it began: it is no interrupted run
            (folder / CONFIG).unlink()
        raise
