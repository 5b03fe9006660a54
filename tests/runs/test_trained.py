"""Runs from Python: the same runs, rows and codes as those of the command line."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandLine
from support.one_line import one_line

from hashbench import TrainedRun, load, train
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.store import open_dataset
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def trained(results: Path) -> TrainedRun:
    return train("itq", "digits", bits=12, results=results)


def items() -> Any:
    return open_dataset(load_card("digits")).items


def test_train_stores_the_row_that_the_command_finds(
    trained: TrainedRun, results: Path, hashbench: CommandLine
) -> None:
    assert repr(trained) == f"TrainedRun({trained.row.run})"
    assert trained.row.run == str(Run.resolve("digits", None, "itq", {"bits": 12}).name)
    assert list(Store(results).rows()) == [trained.row]
    _, out, error = hashbench("--results", results, "train itq digits --bits 12")
    assert "nothing was trained" in error and trained.row.run in out
    assert train("itq", "digits", bits=12, results=results).row == trained.row


def test_load_encodes_as_the_command_does(
    trained: TrainedRun, results: Path, tmp_path: Path, hashbench: CommandLine
) -> None:
    np.save(tmp_path / "own.npy", items()[:50])
    out = tmp_path / "codes.npz"
    hashbench.done("--results", results, "encode digits-s1-itq", tmp_path / "own.npy", "--out", out)
    result = load("digits-s1-itq", results=results).encode(items()[:50].tolist())
    with np.load(out) as saved:
        assert np.array_equal(result, saved["codes"])
    assert result.dtype == np.uint8
    assert result.shape == (50, 12)
    assert 0 < result.mean() < 1


def test_what_cannot_be_trained_or_loaded_is_one_line(trained: TrainedRun, results: Path) -> None:
    with one_line("unknown setting of itq 'nbits': did you mean bits"):
        train("itq", "digits", nbits=12, results=results)
    other = "rows are read from .*; hashbench --results FOLDER, in Python results=FOLDER"
    with one_line(f"unknown run 'digits-s1-lsh'.*{other}"):
        load("digits-s1-lsh", results=results)
    with one_line("the working files of this run are not here: this trains it again: "):
        TrainedRun(trained.row, Store(results / "away")).encode(items()[:5])


def test_a_run_folder_encodes_elsewhere_without_the_card(
    trained: TrainedRun, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = trained.encode(items()[:9])
    moved = tmp_path / "any name"
    shutil.copytree(results / "runs" / trained.row.run, moved)
    monkeypatch.setenv("HASHBENCH_RESULTS", str(tmp_path / "no results"))
    given = items()[:9]
    monkeypatch.setattr("hashbench.running.datasets.card.card_files", dict)  # no card, and so no data set
    result = load(moved)
    assert result.row == trained.row
    assert np.array_equal(result.encode(given), expected)
    assert np.array_equal(load(str(moved)).encode(given), expected)
    with one_line(r"items: values from 30 to 4.; 0 to 16 are expected"):
        result.encode(given + 30)
    (moved / "run.json").write_text("{}")
    with one_line(r"any name/run\.json: damaged"):
        load(moved)
    (moved / "run.json").unlink()  # as in a folder that an older hashbench made
    with one_line(r"any name: run\.json is missing, .* is loaded by its name, where its row is"):
        load(moved)
    with one_line(r"nowhere: run.json is missing"):
        load(tmp_path / "nowhere")
