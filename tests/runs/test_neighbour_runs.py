"""Whole runs on vectors without labels, whose protocol has neighbours as relevance."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.stored_toy import parts, store_toy

from hashbench import histogram
from hashbench.codes import files
from hashbench.datasets.relevance import relevance_of
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.data import open_data
from hashbench.runs.guard import row_of
from hashbench.runs.row import Row
from hashbench.runs.run import Options, Run
from hashbench.runs.store import Store

HEAD = {"model": "linear", "epochs": 2, "batch_size": 32}
METRICS = 'metrics = ["recall@10", "recall@20"]\n'


def rule(metric: str = "l2", k: int = 10) -> str:
    of_parts = parts(20, 300, 400) + METRICS
    return f'{of_parts}\n[protocols.s1.relevance]\nkind = "neighbours"\nk = {k}\nmetric = "{metric}"\n'


def vectors(root: Path, protocols: str) -> None:
    items = np.random.default_rng(0).standard_normal((400, 16)).astype(np.float32)
    store_toy(root, items, np.zeros((400, 0), np.uint8), protocols)


def measured(root: Path, method: str, **settings: Any) -> tuple[Row, Path]:
    results = Store(root / "results")
    row = row_of(Run.resolve("toy", "s1", method, {"bits": 16, **settings}), results)
    assert row.status == "ok", row.reason
    return row, results.run_folder(row.run)


@pytest.mark.parametrize(
    ("method", "settings"),
    [("itq", {}), ("talr-ap", HEAD), ("talr-ndcg", HEAD), ("mihash", HEAD), ("cibhash", HEAD), ("bihalf-u", HEAD)],
)
def test_methods_train_without_labels_and_are_scored_by_neighbours(
    method: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    vectors(tmp_path, rule())
    row, folder = measured(tmp_path, method, **settings)
    data = open_data(Run.resolve("toy", "s1", method, {"bits": 16, **settings}))
    query, database, _ = files.load_codes(folder / "codes.npz")
    due = histogram.count(query, database, relevance_of(data.compared, data.ids, data.run.protocol))
    assert row.artefacts["histogram"] == due.sha256()
    assert (due.n_relevant == 10).all()
    assert row.metrics["recall@10"].mean < row.metrics["recall@20"].mean


def test_asymmetric_and_table_rankings_take_neighbours(tmp_path: Path) -> None:
    vectors(tmp_path, rule())
    row, _ = measured(tmp_path, "pq")
    assert 0 < row.searches["asymmetric"]["recall@10"].mean < row.searches["asymmetric"]["recall@20"].mean


@pytest.mark.parametrize(("metric", "due"), [("l2", "l2"), ("cosine", "l2"), ("ip", "ip")])
def test_a_method_is_told_the_metric(metric: str, due: str, tmp_path: Path) -> None:
    vectors(tmp_path, rule(metric))
    data = open_data(Run.resolve("toy", "s1", "lsh", {"bits": 16}))
    assert data.training(tmp_path, Options(), None).metric == due


@pytest.mark.parametrize(
    ("method", "k", "phrase"),
    [("lsh", 500, "k = 500 neighbours"), ("csq", 10, "csq learns from class labels, and toy s1 scores distances")],
)
def test_what_cannot_be_run_is_refused(method: str, k: int, phrase: str, tmp_path: Path) -> None:
    vectors(tmp_path, rule(k=k))
    settings = {} if method == "lsh" else {"model": "linear"}
    with pytest.raises(HashbenchError, match=phrase):
        row_of(Run.resolve("toy", "s1", method, {"bits": 16, **settings}), Store(tmp_path / "results"))
    assert not list((tmp_path / "results").rglob("*.npz"))
