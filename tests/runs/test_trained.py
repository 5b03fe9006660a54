"""Runs from Python: the same runs, rows and codes as those of the command line."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import call

import hashbench
from hashbench.datasets.card import load_card
from hashbench.datasets.store import open_dataset
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.run import Run
from hashbench.runs.store import Store


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def trained(results: Path) -> hashbench.TrainedRun:
    return hashbench.train("itq", "digits", bits=12, results=results)


def items() -> Any:
    return open_dataset(load_card("digits")).items


def test_train_stores_the_row_that_the_command_finds(
    trained: hashbench.TrainedRun, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert repr(trained) == f"TrainedRun({trained.row.run})"
    assert trained.row.run == str(Run.resolve("digits", None, "itq", {"bits": 12}).name)
    assert list(Store(results).rows()) == [trained.row]
    _, out, error = call(capsys, "--results", results, "train", "itq", "digits", "--bits", 12)
    assert "nothing was trained" in error and trained.row.run in out
    assert hashbench.train("itq", "digits", bits=12, results=results).row == trained.row


def test_load_encodes_as_the_command_does(
    trained: hashbench.TrainedRun, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "own.npy", items()[:50])
    out = tmp_path / "codes.npz"
    assert call(capsys, "--results", results, "encode", "digits-s1-itq", tmp_path / "own.npy", "--out", out)[0] == 0
    found = hashbench.load("digits-s1-itq", results=results).encode(items()[:50].tolist())
    with np.load(out) as saved:
        assert np.array_equal(found, saved["codes"])
    assert (found.dtype, found.shape) == (np.uint8, (50, 12)) and 0 < found.mean() < 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda x: x.reshape(len(x), -1), r"items: shape \(5, 64\); the hasher takes \[n, 8, 8, 1\]"),
        (lambda x: x + 30, "items: values from 30 to 4.; 0 to 16 are expected, as in the data set"),
        (
            lambda x: np.where(x == 0, np.nan, x),
            "items: a value is NaN; 0 to 16 are expected, as in the data set",
        ),
        (lambda x: x.astype(str), "items: items must be numbers, these are <U"),
        (lambda _: 5, r"items: shape \(\); the hasher takes"),
    ],
)
def test_other_items_are_refused(trained: hashbench.TrainedRun, change: Any, complaint: str) -> None:
    with pytest.raises(HashbenchError, match=complaint):
        trained.encode(change(items()[:5]))


def test_what_cannot_be_trained_or_loaded_is_one_line(trained: hashbench.TrainedRun, results: Path) -> None:
    with pytest.raises(HashbenchError, match="unknown setting of itq 'nbits': did you mean bits"):
        hashbench.train("itq", "digits", nbits=12, results=results)
    other = "rows are read from .*; hashbench --results FOLDER, in Python results=FOLDER"
    with pytest.raises(HashbenchError, match=f"unknown run 'digits-s1-lsh'.*{other}"):
        hashbench.load("digits-s1-lsh", results=results)
    with pytest.raises(HashbenchError, match="the working files of this run are not here: this trains it again: "):
        hashbench.TrainedRun(trained.row, Store(results / "away")).encode(items()[:5])


def test_a_run_folder_encodes_elsewhere_without_the_card(
    trained: hashbench.TrainedRun, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = trained.encode(items()[:9])
    moved = tmp_path / "any name"
    shutil.copytree(results / "runs" / trained.row.run, moved)
    monkeypatch.setenv("HASHBENCH_RESULTS", str(tmp_path / "no results"))
    given = items()[:9]
    monkeypatch.setattr("hashbench.datasets.card.card_files", dict)  # no card, and so no data set
    found = hashbench.load(moved)
    assert (found.row, np.array_equal(found.encode(given), expected)) == (trained.row, True)
    assert np.array_equal(hashbench.load(str(moved)).encode(given), expected)
    with pytest.raises(HashbenchError, match=r"items: values from 30 to 4.; 0 to 16 are expected"):
        found.encode(given + 30)
    (moved / "run.json").write_text("{}")
    with pytest.raises(HashbenchError, match=r"any name/run\.json: damaged"):
        hashbench.load(moved)
    (moved / "run.json").unlink()  # as in a folder that an older hashbench made
    with pytest.raises(
        HashbenchError, match=r"any name: run\.json is missing, .* is loaded by its name, where its row is"
    ):
        hashbench.load(moved)
    with pytest.raises(HashbenchError, match=r"nowhere: run.json is missing"):
        hashbench.load(tmp_path / "nowhere")
