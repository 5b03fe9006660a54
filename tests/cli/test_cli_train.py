"""The command line around training: train, encode, eval, run, list, doctor; through python -m and in process."""

import json
import re
import signal
import subprocess
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest
import typer
from support.command_line import CommandLine

from hashbench.cli._app import app

TRAIN = ["train", "lsh", "digits", "--protocol", "s1", "--bits", "16"]


def test_train_prints_one_json_object_and_nothing_else() -> None:
    command = [sys.executable, "-m", "hashbench", *TRAIN, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    row = json.loads(done.stdout)
    assert done.stdout.count("\n") == 1
    assert row["run"].startswith("digits-s1-lsh-16b-s0-")
    assert 0 < row["searches"]["database"]["ap"]["mean"] < 1
    assert set(row["code"]) == {"version", "commit", "dirty"}


def test_eval_of_the_saved_codes_gives_the_row(hashbench: CommandLine, tmp_path: Path) -> None:
    _, out, _ = hashbench(*TRAIN, "--json")
    row = json.loads(out)
    saved = tmp_path / "codes.npz"
    assert hashbench(f"encode {row['run']} --out {saved}").code == 0
    asked = [word for name in row["searches"]["database"] for word in ("--metric", name)]
    code, out, _ = hashbench(f"eval {saved}", *asked, "--json")
    assert code == 0
    printed = json.loads(out)["metrics"]
    assert list(printed) == list(row["searches"]["database"])
    for name, value in row["searches"]["database"].items():
        assert {key: printed[name][key] for key in value} == value


def test_a_failed_run_says_so_and_exits_2(hashbench: CommandLine) -> None:
    wild = ["train", "dpsh", "digits", "--protocol", "s1", "--bits", "8", "--set", "lr=1e30", "--json"]
    code, out, err = hashbench(*wild)
    assert code == 2
    assert json.loads(out)["status"] == "failed"
    assert "smaller lr" in err.splitlines()[-1]


@pytest.mark.parametrize("lost", [True, False])
def test_an_interrupt_leaves_no_alarm(lost: bool, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is lost, as in a finaliser, comes again while the command runs, and not while Python shuts down."""
    from hashbench.datasets import card

    def interrupted() -> list[str]:
        with suppress(KeyboardInterrupt) if lost else nullcontext():
            signal.raise_signal(signal.SIGTERM)
        return []

    monkeypatch.setattr(card, "cards", interrupted)
    code, _, err = hashbench("list datasets")
    assert signal.alarm(0) == 0
    assert (code, err) == ((0, "") if lost else (130, "interrupted: nothing was written\n"))


def test_help_lists_every_command(hashbench: CommandLine) -> None:
    code, out, _ = hashbench("--help")
    assert code == 0
    cli: Any = typer.main.get_command(app)
    for name in cli.commands:
        assert f"\n  {name} " in out
    assert "..." not in out.split("Commands:")[1]
    for name in cli.commands:
        code, out, _ = hashbench(f"{name} --help")
        assert code == 0
        assert f"hashbench {name}" in out


def test_run_in_a_log_is_a_line_a_run(hashbench: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bar or a carriage return; --quiet leaves what fails."""
    from hashbench.tables import spec
    from hashbench.tables.cell_runs import cell_runs

    given = [("lsh", 8), ("itq", 100), ("itq", 8)]
    cells = [cell for cell in spec.load("digits").cells if cell.metric == "ap"][: len(given)]
    cells = [
        cell.model_copy(update={"method": method, "settings": {"bits": bits}})
        for cell, (method, bits) in zip(cells, given, strict=True)
    ]
    few = spec.load("digits").model_copy(update={"cells": cells})
    monkeypatch.setattr(spec, "load", lambda *_: few)
    code, out, err = hashbench("run digits")
    lines = err.splitlines()
    assert (code, out) == (1, "")
    assert lines[0] == "3 runs, 0 done, 3 to do"
    lsh, itq, last = (str(each.runs[0].name) for each in cell_runs(few, 1))
    assert re.fullmatch(rf"1 of 3 runs done, 1 running, 0 failed, 00:\d\d left: {lsh} ap 0\.\d{{3}}", lines[1])
    assert re.fullmatch(f"failed: {itq}: 100 bits from 64 features: at most 64 bits", lines[2])
    assert re.fullmatch(rf"1 of 3 runs done, 1 running, 1 failed, 00:\d\d left: {itq} failed", lines[3])
    assert re.fullmatch(rf"2 of 3 runs done, 0 running, 1 failed, 00:00 left: {last} ap 0\.\d{{3}}", lines[4])
    assert lines[5].startswith("rows in ") and lines[6:] == ["error: 1 of 3 runs failed"]
    assert "\r" not in err
    again = hashbench("run digits --dry-run").err.splitlines()
    assert (
        again[1] == "note: the rows of the runs done are stored; hashbench train ... --again trains one and compares it"
    )
    quiet = hashbench("--quiet run digits").err.splitlines()
    assert quiet == [lines[2], "error: 1 of 3 runs failed"]
