"""The hasher of a run: it is fitted and saved, or loaded if it was saved before."""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hashbench.contract import DamagedHasher, Hasher, SavedHasher
from hashbench.foundation import provenance
from hashbench.foundation.config import json_object
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import write_text
from hashbench.runs.command import PROGRAM, train_command
from hashbench.runs.data import RunData
from hashbench.runs.options import Options
from hashbench.runs.row import Row
from hashbench.runs.run import Run
from hashbench.runs.store import Store
from hashbench.training import log

FITTED = "fitted.json"  # the code version that fitted the hasher, and the seconds it took


def fit(data: RunData, folder: Path, options: Options, base: Hasher | None) -> tuple[Hasher, float]:
    """The fitted hasher, which is also saved in ``folder``, and the wall time of its training in seconds.

    If the same commit saved the hasher there before (the run was killed before its row was written), it is loaded.
    Raises TrainingFailed if training fails.
    """
    spec = data.spec
    if options.group.is_alone and (seconds := _seconds_of_saved(folder)) is not None:
        with suppress(HashbenchError):  # a hasher that is damaged or gone is fitted again
            return load(spec, folder, options.device, base), seconds
    started = time.perf_counter()
    (folder / FITTED).unlink(missing_ok=True)
    hasher = spec.method.fit(spec.settings, data.training(folder, options, base))
    seconds = time.perf_counter() - started
    if options.group.is_first:
        hasher.save(folder)
        seconds = max(seconds, log.seconds(folder))
        write_text(folder / FITTED, json.dumps({"code": provenance.code().model_dump(), "seconds": seconds}) + "\n")
    return hasher, seconds


def _seconds_of_saved(folder: Path) -> float | None:
    """The training seconds of the hasher saved in ``folder``; None unless this commit trained it."""
    code = provenance.code()
    try:
        kept = json_object((folder / FITTED).read_text())
        is_same = code.commit is not None and not code.dirty and kept["code"] == code.model_dump()
        return float(kept["seconds"]) if is_same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def load(spec: Run, folder: Path, device: str, base: Hasher | None) -> Hasher:
    """The hasher that was saved in ``folder``."""
    return spec.method.load(spec.settings, SavedHasher(folder, device, base))


def is_saved(spec: Run, store: Store) -> bool:
    """Whether the hasher of a run, and those that it starts from, are saved."""
    saved = any(store.run_folder(str(spec.name)).glob("hasher.*"))  # every hasher saves such a file
    return saved and (spec.base is None or is_saved(spec.base, store))


def load_saved(spec: Run, store: Store, device: str = "auto") -> Hasher | None:
    """The saved hasher of a run; None if its working files, or those of its base, are missing."""
    if not is_saved(spec, store):
        return None
    base = None if spec.base is None else load_saved(spec.base, store, device)
    return load(spec, store.run_folder(str(spec.name)), device, base)


def load_hasher(row: Row, store: Store, device: str = "auto", program: Sequence[str] = PROGRAM) -> Hasher:
    """The hasher of a stored run; raises HashbenchError, with the command that makes it, if it is missing or damaged.

    ``program`` are the first words of that command.
    """
    if row.status != "ok":
        command = train_command(row, program)
        raise HashbenchError(f"{row.run}: this run failed ({row.reason}); this tries it again: {command}")
    try:
        hasher = load_saved(Run.from_row(row), store, device)
    except DamagedHasher as damage:
        raise HashbenchError(f"{damage}: {_remedy(row, program)}") from None
    if hasher is None:
        raise not_here(row, store, program)
    return hasher


def not_here(row: Row, store: Store, program: Sequence[str] = PROGRAM) -> HashbenchError:
    """The error where working files of a stored run are missing, with the command that makes them."""
    folder = store.run_folder(row.run)
    return HashbenchError(f"{folder}: the working files of this run are not here: {_remedy(row, program)}")


def _remedy(row: Row, program: Sequence[str]) -> str:
    return f"this trains it again: {train_command(row, program, again=True)}"
