"""The command that trains a run, from the run's row."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence

from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.models import MODELS
from hashbench.runs.name import RunName
from hashbench.runs.row import Row
from hashbench.runs.run import BASE, Run
from hashbench.runs.settings import method_file
from hashbench.training.settings import SHA256

OPTIONS = ("bits", "model", "weights")  # the settings that have an option of their own; the others are given by --set
PROGRAM = ("hashbench",)
CLASSIFIER = "classifier"  # the method that hashbench pretrain trains


def train_command(row: Row, program: Sequence[str] = PROGRAM, *, again: bool = False) -> str:
    """The command line, quoted for a shell, that trains the run of ``row``; ``program`` are its first words.

    It has no option that does not change the run. Raises HashbenchError if no command gives this run any more, because
    its data, its split or its method have changed.
    """
    return command_of(row, _shortest(row, _settings(row)), program, again=again)


def command_of(
    run: Row | RunName, given: Mapping[str, Setting], program: Sequence[str] = PROGRAM, *, again: bool = False
) -> str:
    """The command line, quoted for a shell, that trains ``run``; ``given`` are the settings that name it."""
    if run.method == CLASSIFIER:
        return _pretrain_command(run, given, program)
    words = [*program, "train", run.method, run.dataset, "--protocol", run.protocol]
    words += ["--split", str(run.split_seed)] if run.split_seed is not None else []
    words += [word for key in OPTIONS if key in given for word in (f"--{key}", _option(key, given[key], run))]
    words += ["--seed", str(run.seed)] if run.seed else []
    words += ["--budget", run.budget] if run.budget != method_file(run.method).budget(None) else []
    words += [word for key in given if key not in OPTIONS for word in ("--set", f"{key}={_spelled(given[key])}")]
    return shlex.join([*words, "--again"] if again else words)


def _pretrain_command(row: Row | RunName, given: Mapping[str, Setting], program: Sequence[str]) -> str:
    """The command of a classifier: it trains the run again by itself where the weights are not here."""
    settings = row.config["settings"]
    channels = MODELS.get(settings["model"]).channels
    words = [*program, "pretrain", row.dataset, "--model", settings["model"], "--protocol", row.protocol]
    words += ["--width", str(round(settings.get("width", 1.0) * channels))] if channels is not None else []
    words += ["--epochs", str(given["epochs"])] if "epochs" in given else []
    words += ["--seed", str(row.seed)] if row.seed else []
    own = [key for key in given if key not in ("model", "width", "epochs", "classes")]
    return shlex.join([*words, *(word for key in own for word in ("--set", f"{key}={_spelled(given[key])}"))])


def _settings(row: Row) -> dict[str, Setting]:
    """Settings that give the run: those that the row names, and those whose default was another when it was made."""
    now = _resolved(row, row.settings)
    if now is None:
        raise HashbenchError(
            f"{row.run}: its settings are not known to its method any more: it cannot be trained again"
        )
    given = {**row.settings, **_changed(Run.from_row(row), now)}
    found = _resolved(row, given)
    if found is None or str(found.name) != row.run:
        raise HashbenchError(f"{row.run}: its data or its split have changed since: it cannot be trained again")
    return given


def _changed(spec: Run, now: Run, prefix: str = "") -> dict[str, Setting]:
    """The settings of ``spec`` that differ from those of ``now``, the same run with the files of today."""
    wanted, other = spec.settings.model_dump(), now.settings.model_dump()
    found = {f"{prefix}{key}": value for key, value in wanted.items() if other[key] != value}
    if spec.base is not None and now.base is not None:
        found |= _changed(spec.base, now.base, BASE)
    return found


def _shortest(row: Row, given: dict[str, Setting]) -> dict[str, Setting]:
    """``given`` without the settings that the run has anyway."""
    for key in list(given):
        fewer = {other: value for other, value in given.items() if other != key}
        found = _resolved(row, fewer)
        if found is not None and str(found.name) == row.run:
            given = fewer
    return given


def _resolved(row: Row, given: Mapping[str, Setting]) -> Run | None:
    """The run that ``given`` names today; None if they name none."""
    try:
        names = row.dataset, row.protocol, row.method
        return Run.resolve(*names, given, seed=row.seed, budget=row.budget, split_seed=row.split_seed)
    except HashbenchError:
        return None


def _option(key: str, value: Setting, row: Row | RunName) -> str:
    """The value of an option; of a user's own weights of a network of ImageNet only the checksum is known."""
    of_file = key == "weights" and str(value).startswith(SHA256)
    # weights that hashbench pretrain made are found by their checksum
    is_own = of_file and MODELS.get(row.config["settings"]["model"]).pretrained is None
    return f"FILE-OF-{value}" if of_file and not is_own else str(value)


def _spelled(value: Setting) -> str:
    """``value`` as --set reads it: as TOML, or as a plain text that cannot be read as TOML."""
    is_plain = isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w.:/+-]*", value) and value not in _WORDS
    return str(value) if is_plain else json.dumps(value)


_WORDS = ("true", "false", "inf", "nan")  # TOML reads these as values
