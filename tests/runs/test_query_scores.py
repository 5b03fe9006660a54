"""What a table of record compares of each query: what is kept of it, what is read again, and what is refused."""

import lzma
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandLine
from support.toy_root import toy_root

from hashbench.foundation import paths
from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.errors import CheckFailed
from hashbench.foundation.execution import Execution
from hashbench.running.runs import query_scores
from hashbench.running.runs.data import open_data
from hashbench.running.runs.query_scores import ROUNDING, load
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring import metrics
from hashbench.scoring.metrics import Metrics

TABLE = """
title = "Tiny"
repeats = "splits"
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
[[groups]]
columns = [{ label = "4 bits", settings = { bits = 4 } }, { label = "8 bits", settings = { bits = 8 } }]
rows = [{ label = "LSH", method = "lsh" }]
"""


# the recall of the same codes by two searches
RECALLS = TABLE.replace(
    """metric = "ap"
[[groups]]""",
    """[views]
bits = { section = "bits", metric = "recall@50" }
float = { section = "float", metric = "recall@50", evaluation = "asymmetric" }
[[groups]]
views = ["bits", "float"]""",
)
MEASURES = ("recall@50", "asymmetric: recall@50")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine) -> Store:
    """Two repeats of both cells of a table of record, and the file of their queries."""
    tables = toy_root(tmp_path, monkeypatch, "methods", "papers.toml", alone=True) / "experiments" / "tables"
    tables.mkdir()
    (tables / "tiny.toml").write_text(TABLE)
    code, _, err = hashbench("run tiny --seeds 2")
    assert code == 0 and "the scores of each query in " in err
    return Store(tmp_path / "results")


def file_of(store: Store) -> Path:
    return store.folder / "queries" / "tiny.npz.xz"


def exact_ap(row: Row, store: Store) -> np.ndarray[Any, Any]:
    histogram = store.histogram(row)
    assert histogram is not None
    return metrics.evaluate(histogram, Metrics.parse(["ap"]))["ap"]


def test_each_value_is_the_ap_of_its_query_in_the_order_of_the_ids(store: Store) -> None:
    rows = list(store.rows())
    assert len(rows) == 4
    for row in rows:
        kept = load(row.run)
        assert kept is not None and kept.dtype == np.float32
        np.testing.assert_allclose(kept, exact_ap(row, store), rtol=0, atol=2 * ROUNDING)
        assert kept.mean() == pytest.approx(row.metrics["ap"].mean, abs=1e-6)
        queries = open_data(Run.from_row(row), Execution()).search_items.queries.ids
        assert len(queries) == len(kept) and (np.diff(queries) > 0).all()
    assert load("digits-s1-lsh-4b-s9-0000000000") is None


def test_the_file_outlives_the_histograms(store: Store, hashbench: CommandLine) -> None:
    rows = list(store.rows())
    before = [load(row.run) for row in rows]
    content = file_of(store).read_bytes()
    shutil.rmtree(store.run_folder(rows[0].run))
    file_of(store).unlink()
    hashbench.done("table tiny --write")
    assert load(rows[0].run) is None and load(rows[1].run) is not None  # only what is here can be kept
    file_of(store).write_bytes(content)
    shutil.rmtree(store.run_folder(""))
    code, _, err = hashbench("run tiny --seeds 2")
    assert code == 0 and "4 runs, 4 done, 0 to do" in err and "the scores of each query" not in err
    np.testing.assert_array_equal([load(row.run) for row in rows], before)
    assert file_of(store).read_bytes() == content


def test_recalls_of_each_search_are_kept(store: Store, hashbench: CommandLine) -> None:
    (paths.root() / "experiments" / "tables" / "tiny.toml").write_text(RECALLS)
    hashbench.done("run tiny --seeds 2")
    rows = list(store.rows())
    folders = [store.run_folder(row.run) / query_scores.QUERIES for row in rows]
    for row, folder in zip(rows, folders, strict=True):
        histogram = store.histogram(row)
        assert histogram is not None and load(row.run) is None
        with np.load(folder) as by_ranking:
            exact = metrics.evaluate(histogram, Metrics.parse(["recall@50"])) | dict(by_ranking)
        for measure in MEASURES:
            np.testing.assert_allclose(load(row.run, measure=measure), exact[measure], rtol=0, atol=2 * ROUNDING)
    kept = [load(row.run, measure=MEASURES[1]) for row in rows]
    write_arrays(folders[0], {MEASURES[1]: np.zeros(len(kept[0]), np.float32)})  # of another run of this name
    folders[1].unlink()
    hashbench.done("table tiny --write")
    np.testing.assert_array_equal([load(row.run, measure=MEASURES[1]) for row in rows], kept)
    file_of(store).unlink()
    hashbench.done("table tiny --write")
    is_kept = [load(row.run, measure=MEASURES[1]) is not None for row in rows]
    assert is_kept == [False, False, True, True]


def test_what_is_merged_fits_its_row(store: Store, tmp_path: Path, hashbench: CommandLine) -> None:
    rows = list(store.rows())
    expected = [load(row.run) for row in rows]
    other = Store(tmp_path / "other")
    shutil.copytree(store.folder, other.folder)
    shutil.rmtree(store.rows_folder)
    file_of(store).unlink()
    forged(other, lambda ap: np.concatenate([200 - ap[:1], ap[1:]]))
    hashbench.done("results merge", other.folder)
    kept = {row.run: load(row.run) for row in rows}
    (missing,) = {run for run, ap in kept.items() if ap is None}  # the one whose mean is not the row's
    for row, ap in zip(rows, expected, strict=True):
        assert row.run == missing or np.array_equal(kept[row.run], ap)


def forged(store: Store, change: Callable[[Any], Any], part: str = "ap") -> None:
    """Changes an array of the first split in the file, which stays readable."""
    with lzma.open(file_of(store)) as file, np.load(BytesIO(file.read())) as arrays:
        content = {name: arrays[name] for name in arrays.files}
    name = next(name for name in content if name.endswith(part))
    content[name] = change(content[name])
    with lzma.open(file_of(store), "wb") as file:
        np.savez(file, **content)


@pytest.mark.parametrize(
    "part, change, fault",
    [
        ("ap", lambda ap: ap // 2, "its mean ap is .*, and that of its row "),
        ("ap", lambda ap: np.full_like(ap, 251), "a value is above 1"),
        ("ap", lambda ap: ap.astype(np.float64), "or hold other types of numbers"),
        ("order", np.zeros_like, "its arrays do not fit together"),
        ("runs", lambda runs: np.array([runs[0]] * len(runs)), "is there twice"),
        ("runs", lambda runs: runs.astype(object), "not a readable file .*allow_pickle=False"),
    ],
)
def test_a_forged_file_is_refused_in_one_line(store: Store, part: str, change: Any, fault: str) -> None:
    runs = [row.run for row in store.rows()]
    forged(store, change, part)
    with pytest.raises(CheckFailed, match=fault) as error:
        list(map(load, runs))
    assert str(error.value).startswith(str(file_of(store))) and "\n" not in str(error.value)
