"""The command line around training: train, encode, eval, run, list, doctor; through python -m and in process."""

import json
import re
import signal
import subprocess
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from support.command_line import call

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


def test_eval_of_the_saved_codes_gives_the_row(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, out, _ = call(capsys, *TRAIN, "--json")
    row = json.loads(out)
    saved = tmp_path / "codes.npz"
    assert call(capsys, "encode", row["run"], "--out", str(saved))[0] == 0
    asked = [word for name in row["searches"]["database"] for word in ("--metric", name)]
    code, out, _ = call(capsys, "eval", str(saved), *asked, "--json")
    assert code == 0
    printed = json.loads(out)["metrics"]
    assert list(printed) == list(row["searches"]["database"])
    for name, value in row["searches"]["database"].items():
        assert {key: printed[name][key] for key in value} == value


def test_encode_of_ones_own_items(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    row = json.loads(call(capsys, *TRAIN, "--json")[1])
    np.save(tmp_path / "items.npy", np.zeros((5, 8, 8, 1), np.uint8))
    out = tmp_path / "own.npz"
    assert call(capsys, "encode", row["run"], str(tmp_path / "items.npy"), "--out", str(out))[0] == 0
    with np.load(out) as archive:
        assert archive["codes"].shape == (5, 16)
        assert (archive["codes"] == archive["codes"][0]).all()


@pytest.mark.parametrize(
    "items",
    [
        np.zeros((5, 9, 8, 1), np.uint8),
        np.full((2, 8, 8, 1), np.nan, np.float32),
        np.zeros((0, 8, 8, 1), np.uint8),
        np.array(["a", "b"]),
        np.zeros(5, np.uint8),
    ],
    ids=["shape", "nan", "empty", "text", "flat"],
)
def test_wrong_items_are_one_line(items: np.ndarray, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    row = json.loads(call(capsys, *TRAIN, "--json")[1])
    np.save(tmp_path / "items.npy", items)
    code, _, err = call(capsys, "encode", row["run"], str(tmp_path / "items.npy"), "--out", str(tmp_path / "o.npz"))
    assert code == 2
    assert [line for line in err.splitlines() if line.startswith("error: ")] == err.splitlines()[-1:]
    assert not (tmp_path / "o.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["trian"], "trian"),
        ([*TRAIN[:-1], "0"], "bits: Input should be greater than or equal to 1, got 0"),
        ([*TRAIN[:-1], "-8"], "got -8"),
        ([*TRAIN[:-1], "eight"], "--bits"),
        ([*TRAIN[:-1], "8.5"], "--bits"),
        (["train", "itq", "digits", "--protocol", "s1", "--bits", "100"], "100 bits from 64 features: at most 64 bits"),
        (["train", "classifier-codes", "digits", "--protocol", "s1", "--bits", "3"], "3 bits for 10 classes: at least"),
        ([*TRAIN, "--set", "centre"], "KEY=VALUE"),
        ([*TRAIN, "--set", "center=true"], "did you mean centre"),
        ([*TRAIN, "--set", "centre=1"], "centre: true, false or range is expected, got 1"),
        ([*TRAIN, "--seed", "-1"], "a seed is 0 or more"),
        (["train", "talr-ap", "digits", "--protocol", "s1", "--bits", "8", "--device", "tpu"], "device 'tpu'"),
        (["train", "lsh", "cifar10", "--protocol", "s1", "--bits", "8"], "hashbench download cifar10"),
        (["encode", "nothing", "--out", "x.npz"], "unknown run 'nothing': one of none (rows are read from "),
        (["encode", "..", "--out", "x.npz"], "..: run.json is missing"),
        (["encode", "../nowhere", "--out", "x.npz"], "../nowhere: no such folder of a run"),
        (["run", "digts"], "unknown table 'digts': did you mean digits"),
        (["run", "digits", "--seeds", "0"], "--seeds"),
        (["list", "method"], "did you mean methods"),
        (["eval", "missing.npz"], "missing.npz"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_is_exit_2_and_one_line(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, err = call(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert complaint in err
    assert not list((tmp_path / "results").glob("rows/*.jsonl"))


def test_a_failed_run_says_so_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    wild = ["train", "dpsh", "digits", "--protocol", "s1", "--bits", "8", "--set", "lr=1e30", "--json"]
    code, out, err = call(capsys, *wild)
    assert code == 2
    assert json.loads(out)["status"] == "failed"
    assert "smaller lr" in err.splitlines()[-1]


@pytest.mark.parametrize("lost", [True, False])
def test_an_interrupt_leaves_no_alarm(
    lost: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is lost, as in a finaliser, comes again while the command runs, and not while Python shuts down."""
    from hashbench.datasets import card

    def interrupted() -> list[str]:
        with suppress(KeyboardInterrupt) if lost else nullcontext():
            signal.raise_signal(signal.SIGTERM)
        return []

    monkeypatch.setattr(card, "cards", interrupted)
    code, _, err = call(capsys, "list", "datasets")
    assert signal.alarm(0) == 0
    assert (code, err) == ((0, "") if lost else (130, "interrupted: nothing was written\n"))


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "--help")
    assert code == 0
    cli: Any = typer.main.get_command(app)
    for name in cli.commands:
        assert f"\n  {name} " in out
    assert "..." not in out.split("Commands:")[1]
    for name in cli.commands:
        code, out, _ = call(capsys, name, "--help")
        assert code == 0
        assert f"hashbench {name}" in out


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("methods", ["talr_ap", "Li et al. (2016)", "itq"]),
        ("datasets", ["digits", "cifar10", "[s1]"]),
        ("protocols", ["digits", "s1", "structhash_validation"]),
        ("metrics", ["ap", "ndcg", "structhash_ndcg"]),
        ("features", ["gist", "pixels", "vggf"]),
        ("models", ["small_cnn"]),
        ("tables", ["talr_table1", "digits", "structhash_table2"]),
        ("conventions", ["deephash", "swuxyj/DeepHash-pytorch", "hashnet", "sklearn", "talr", "trec"]),
    ],
)
def test_list(what: str, expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "list", what)
    assert code == 0
    for word in expected:
        assert word in out


def test_doctor_names_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "doctor")
    assert code == 0
    assert re.search(r"^digits +1,797 items", out, re.MULTILINE)
    assert "hashbench download cifar10" in out


def test_run_does_what_is_missing_and_no_more(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "root"
    (table / "experiments" / "tables").mkdir(parents=True)
    from hashbench.foundation import paths

    for shared in ("datasets", "experiments/methods"):
        (table / shared).symlink_to(paths.root() / shared)
    (table / "experiments" / "tables" / "tiny.toml").write_text(
        'title = "Tiny"\npaper = "hashbench"\nsource = "a test"\n'
        'defaults = { dataset = "digits", protocol = "s1", metric = "ap" }\n'
        '[[groups]]\ncolumns = [{ label = "8 bits", settings = { bits = 8 } }]\n'
        'rows = [{ label = "LSH", method = "lsh" }, { label = "ITQ", method = "itq" }]\n'
    )
    everything = ["--root", str(table), "run", "tiny"]
    code, out, err = call(capsys, *everything, "--dry-run")
    assert (code, out.count("\n")) == (0, 2)
    assert "2 runs, 0 done, 2 to do" in err
    assert call(capsys, *everything)[0] == 0
    code, out, err = call(capsys, *everything, "--dry-run")
    assert (code, out) == (0, "")
    assert "2 runs, 2 done, 0 to do" in err


def test_run_in_a_log_is_a_line_a_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    code, out, err = call(capsys, "run", "digits")
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
    again = call(capsys, "run", "digits", "--dry-run")[2].splitlines()
    assert (
        again[1] == "note: the rows of the runs done are stored; hashbench train ... --again trains one and compares it"
    )
    quiet = call(capsys, "--quiet", "run", "digits")[2].splitlines()
    assert quiet == [lines[2], "error: 1 of 3 runs failed"]
