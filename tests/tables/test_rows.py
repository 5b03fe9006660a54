"""``hashbench.rows()``: one line for each run, with columns of known types, whatever is stored."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support import committed, stored_rows
from support.fake_rows import SAMPLE_CELLS, fake_row
from support.one_line import one_line
from support.python import python

import hashbench
from hashbench.foundation.provenance import Code
from hashbench.running.runs.row import Row, Seconds
from hashbench.running.runs.store import Store
from hashbench.scoring.codes.distinct import DistinctCodes
from hashbench.scoring.metrics import MetricValue
from hashbench.showing.tables.rows import COUNTS, FIXED, NAMES, PROVENANCE, STATE

CELLS = {cell.method: cell for cell in reversed(SAMPLE_CELLS)}


def stored(folder: Path, *rows: Row) -> pd.DataFrame:
    for row in rows:
        Store(folder).write(row)
    return hashbench.rows(folder)


def changed(row: Row, **changes: Any) -> Row:
    return row.model_copy(update=changes)


def dense(seed: int = 0, **changes: Any) -> Row:
    return changed(fake_row(CELLS["dpsh"], seed, ap=0.5, **{"ndcg@100": 0.75}), **changes)


def test_no_runs_give_the_columns_and_no_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = hashbench.rows(tmp_path)
    assert len(frame) == 0
    assert list(frame.columns) == [*NAMES, *STATE, *COUNTS, *PROVENANCE]
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == FIXED
    monkeypatch.setenv("HASHBENCH_RESULTS", str(tmp_path / "not yet"))
    assert hashbench.rows().equals(frame)


def test_columns_stand_in_the_documented_order(tmp_path: Path) -> None:
    frame = stored(tmp_path, dense())
    metrics = ["ap", "ap_std", "ndcg@100", "ndcg@100_std"]
    assert list(frame.columns) == [*NAMES, "bits", *STATE, *COUNTS, *metrics, *PROVENANCE]
    documented = hashbench.rows.__doc__ or ""
    assert [name for name in (*NAMES, *STATE, *COUNTS) if f"``{name}``" not in documented] == []
    assert [name for name in PROVENANCE if f"``{name}``" not in documented and "sha256" not in name] == []


def test_a_line_holds_what_the_row_says(tmp_path: Path) -> None:
    row = dense(
        3,
        settings={"bits": 12, "model": "small_cnn", "lr": 0.5, "nesterov": True},
        searches={"database": {"ap": MetricValue(mean=0.25, std=0.125, n_queries=10, n_empty=2)}},
        distinct_codes=DistinctCodes(queries=7, database=900),
        code=Code(version="0.1.0", commit="abc", dirty=False),
        hardware={"system": "Linux", "cpu": "a processor", "cores": 2, "device": "cpu", "gpu": None},
        seconds=Seconds(train=1.5, encode=2.5, score=3.5),
        utc="2026-11-21T19:38:17Z",
    )
    (line,) = stored(tmp_path, row).to_dict("records")
    same = ("run", "dataset", "method", "budget", "seed", "status", "cell_hash", "ids_sha256")
    assert {name: line[name] for name in same} == {name: getattr(row, name) for name in same}
    assert {name: line[name] for name in row.settings} == row.settings
    values = {"ap": 0.25, "ap_std": 0.125, "n_queries": 10, "n_empty": 2, "distinct_queries": 7}
    values |= {"distinct_database": 900, "version": "0.1.0", "commit": "abc", "dirty": False, "system": "Linux"}
    values |= {"cpu": "a processor", "cores": 2, "device": "cpu", "train_s": 1.5, "encode_s": 2.5, "score_s": 3.5}
    values["utc"] = pd.Timestamp("2026-11-21 19:38:17", tz="UTC")
    assert {name: line[name] for name in values} == values
    assert all(pd.isna(line[name]) for name in ("gpu", "reason", "histogram_sha256"))


def test_runs_of_different_kinds_share_the_columns(tmp_path: Path) -> None:
    sparse = fake_row(CELLS["th"], metric=0.5)
    of_test = {"suf": MetricValue(mean=40.0, std=None, n_queries=10, n_empty=0)}
    frame = stored(tmp_path, dense(), changed(sparse, searches={"test": of_test})).set_index("method")
    assert str(frame["bits"].dtype) == "Int64"
    assert str(frame["d"].dtype) == "Int64"
    assert frame.loc["dpsh", "bits"] == 12 and frame.loc["th", "d"] == 64
    assert pd.isna(frame.loc["th", "bits"]) and pd.isna(frame.loc["dpsh", "k"])
    assert frame.loc["th", "test.suf"] == 40.0 and frame.loc["th", "n_queries"] == 10
    for name in ("ap", "test.suf", "test.suf_std"):
        assert frame[name].dtype == np.float64
    assert np.isnan(frame.loc["th", "ap"]) and np.isnan(frame.loc["th", "test.suf_std"])


def test_a_failed_run_has_a_line_with_its_reason(tmp_path: Path) -> None:
    failed = changed(fake_row(CELLS["dpsh"], status="failed"), searches={})
    (line,) = stored(tmp_path, failed).to_dict("records")
    assert line["status"] == "failed"
    assert line["reason"] == "it diverged"
    assert all(pd.isna(line[name]) for name in ("n_queries", "n_empty", "train_s"))


def test_a_metric_of_no_query_is_missing_and_not_zero(tmp_path: Path) -> None:
    empty = MetricValue(mean=None, std=None, n_queries=10, n_empty=10)
    (line,) = stored(tmp_path, dense(searches={"database": {"ap": empty}})).to_dict("records")
    assert np.isnan(line["ap"]) and line["n_empty"] == 10


def test_a_setting_with_the_name_of_another_column_is_told_apart(tmp_path: Path) -> None:
    row = dense(settings={"bits": 12, "status": "on", "ap": 7})
    (line,) = stored(tmp_path, row).to_dict("records")
    assert line["status"] == "ok"
    assert line["settings.status"] == "on"
    assert line["ap"] == 0.5
    assert line["settings.ap"] == 7


def test_settings_of_mixed_types_keep_their_values(tmp_path: Path) -> None:
    frame = stored(
        tmp_path, dense(0, settings={"x": 1}), dense(1, settings={"x": "all"}), dense(2, settings={"x": 0.5})
    )
    assert sorted(map(str, frame["x"])) == ["0.5", "1", "all"]


def test_lines_are_ordered_by_file_name_whatever_was_written_first(tmp_path: Path) -> None:
    rows = [dense(seed) for seed in (2, 0, 1)]
    assert list(stored(tmp_path, *rows)["run"]) == sorted(row.run for row in rows)


def test_the_committed_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    committed.give_rows(monkeypatch)
    frame = hashbench.rows()
    assert len(frame) == len(committed.rows())
    assert frame["run"].is_unique
    assert frame.loc[frame["status"] == "ok", "n_queries"].notna().all()


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with one_line("no such folder"):
        hashbench.rows(tmp_path / "resutls")


def test_a_damaged_row_is_named(tmp_path: Path) -> None:
    Store(tmp_path).write(dense())
    place = stored_rows.replace(tmp_path, dense().run, "{")
    with one_line(place):
        hashbench.rows(tmp_path)


def test_pandas_is_imported_when_rows_are_asked_for_and_not_before(tmp_path: Path) -> None:
    Store(tmp_path).write(dense())
    code = (
        "import sys, hashbench; assert 'numpy' not in sys.modules;"
        "hashbench.rows; assert 'pandas' not in sys.modules;"
        f"hashbench.rows({str(tmp_path)!r}); assert 'pandas' in sys.modules"
    )
    python(code)
