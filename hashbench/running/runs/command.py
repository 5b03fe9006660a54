"""The command that trains a run, from the run's row."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Literal

from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.learning.models import MODELS
from hashbench.learning.training.settings import SHA256
from hashbench.running.runs.row import IMPORTED, Row
from hashbench.running.runs.run import BASE, MISFITS, UNFIT, Run, RunName
from hashbench.running.runs.settings import method_file

OPTIONS = ("bits", "model", "weights")  # the settings that have an option of their own; the others are given by --set
PROGRAM = ("hashbench",)
CLASSIFIER = "classifier"  # the method that hashbench pretrain trains
WORDS = ("true", "false", "inf", "nan")  # TOML reads these as values


def train_command(row: Row, program: Sequence[str] = PROGRAM, *, again: bool = False) -> str:
    """The shortest command, quoted for a shell, that trains the run of ``row`` today, or HashbenchError."""
    with retold(lambda cause: f"{row.run}: {UNFIT} {row.method}: {printable(cause)}", *MISFITS):
        before = Run.from_row(row)
        now = _resolved(row, row.settings)
        if now is None:
            fault = "its settings are not known to its method any more"
            raise HashbenchError(f"{row.run}: {fault}: it cannot be trained again")
        named = {**row.settings, **_changed(before, now)}  # a default may have been another
        if not _names(row, named):
            raise HashbenchError(f"{row.run}: its data or its split have changed since: it cannot be trained again")
        for key in list(named):
            fewer = {other: value for other, value in named.items() if other != key}
            if _names(row, fewer):
                named = fewer
        return command_of(row, named, program, again=again)


def command_of(
    run: Row | RunName,
    settings: Mapping[str, Setting],
    program: Sequence[str] = PROGRAM,
    *,
    again: bool = False,
    asymmetric: bool = False,
    verb: Literal["train", "speed"] = "train",
) -> str:
    """The command line, quoted for a shell, that trains ``run``, or that measures how fast it trains.

    ``settings`` are those that name it.
    """
    seed = ["--seed", str(run.seed)] if run.seed else []
    split = []
    if run.split_seed is not None:
        split = ["--split", str(run.split_seed)]
    if run.budget == IMPORTED:
        words = [*program, "results", "import", "CODES", "--method", run.method, "--dataset", run.dataset]
        words += ["--protocol", run.protocol, "--bits", str(settings["bits"])]
        if "features" in settings:
            words += ["--features", str(settings["features"])]
        return shlex.join([*words, *seed, *split])
    if run.method == CLASSIFIER:
        model = run.config["settings"]["model"]
        words = [*program, "pretrain", run.dataset, "--model", model, "--protocol", run.protocol, *seed]
        return shlex.join([*words, *_set(settings, ("model", "classes")), *_computed_as(run)])
    words = [*program, verb, run.method, run.dataset, "--protocol", run.protocol, *split]
    for key in OPTIONS:
        if key in settings:
            value = settings[key]
            is_file = key == "weights" and str(value).startswith(SHA256)
            # weights that hashbench pretrain made are found by their checksum
            is_foreign = is_file and MODELS.get(run.config["settings"]["model"]).pretrained is not None
            words += [f"--{key}", f"FILE-OF-{value}" if is_foreign else str(value)]
    words += seed
    if run.budget != method_file(run.method).budget(None):
        words += ["--budget", run.budget]
    words += _set(settings, OPTIONS)
    if asymmetric or (isinstance(run, Row) and "asymmetric" in run.searches):
        words.append("--asymmetric")
    if again:
        words += [*_computed_as(run), "--again"]
    return shlex.join(words)


def _computed_as(run: Row | RunName) -> list[str]:
    """The options that compute as the row of a network was computed: they do not name it, but change its rounding."""
    if not isinstance(run, Row) or run.arithmetic is None:
        return []
    device = str(run.hardware["device"])
    usual = "bfloat16" if device.startswith("cuda") else "float32"
    threads = (run.threads or {}).get("openmp", 1)  # what older rows call torch was counted after Numba had changed it
    if device == "cpu" and threads > 1:
        device = f"cpu:{threads}"
    words = ["--device", device]
    if run.arithmetic.precision != usual:
        words += ["--precision", run.arithmetic.precision]
    return words


def _changed(run: Run, now: Run, prefix: str = "") -> dict[str, Setting]:
    """The settings of ``run`` that differ from those of ``now``, the same run with the files of today."""
    other = now.settings.model_dump()
    changed = {f"{prefix}{key}": value for key, value in run.settings.model_dump().items() if other[key] != value}
    if run.base is not None and now.base is not None:
        changed |= _changed(run.base, now.base, BASE)
    return changed


def _names(row: Row, settings: Mapping[str, Setting]) -> bool:
    run = _resolved(row, settings)
    return run is not None and str(run.name) == row.run


def _resolved(row: Row, settings: Mapping[str, Setting]) -> Run | None:
    try:
        names = row.dataset, row.protocol, row.method
        return Run.resolve(*names, settings, seed=row.seed, budget=row.budget, split_seed=row.split_seed)
    except HashbenchError:
        return None


def _set(settings: Mapping[str, Setting], others: Sequence[str]) -> list[str]:
    """The options --set KEY=VALUE of all settings but ``others``: a plain text, or as TOML."""
    words = []
    for key, value in settings.items():
        if key in others:
            continue
        is_plain = isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w.:/+-]*", value) and value not in WORDS
        words += ["--set", f"{key}={value if is_plain else json.dumps(value)}"]
    return words
