"""Whole runs on vectors without labels, whose protocol has neighbours as relevance."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.one_line import one_line
from support.stored_toy import parts, store_toy

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import BitSettings
from hashbench.learning.methods import METHODS
from hashbench.running.datasets.relevance import relevance_of
from hashbench.running.runs.data import open_data, require_supervision
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring import histogram
from hashbench.scoring.codes import files

HEAD = {"model": "linear", "epochs": 2, "batch_size": 32}
METRICS = 'metrics = ["recall@10", "recall@20"]\n'
NEAREST = parts(20, 300, 400) + '\n[protocols.s1.relevance]\nkind = "nearest"\npercent = 2.0\n'
NEITHER = "learns from labels or percentiles of distances, and toy has neither: "


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
    "method, settings",
    [("itq", {}), ("talr-ap", HEAD), ("mihash", HEAD), ("cibhash", HEAD)],
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


@pytest.mark.parametrize("metric, due", [("l2", "l2"), ("cosine", "l2"), ("ip", "ip")])
def test_a_method_is_told_the_metric(metric: str, due: str, tmp_path: Path) -> None:
    vectors(tmp_path, rule(metric))
    data = open_data(Run.resolve("toy", "s1", "lsh", {"bits": 16}))
    assert data.training(tmp_path, Execution(), None).metric == due


def test_more_neighbours_than_there_are_items_are_refused(tmp_path: Path) -> None:
    vectors(tmp_path, rule(k=500))
    with one_line("k = 500 neighbours"):
        row_of(Run.resolve("toy", "s1", "lsh", {"bits": 16}), Store(tmp_path / "results"))
    assert not list((tmp_path / "results").rglob("*.npz"))


def test_methods_are_run_where_there_is_what_they_learn_from(tmp_path: Path) -> None:
    """Labels, relevance by labels or distances, or nothing; else a line says so before anything is made."""
    usable = [(name, method) for name, method in METHODS.usable() if issubclass(method.settings, BitSettings)]
    for protocol, refused in (
        (rule(), {"labels": "learns from class labels, and toy s1 scores distances: "}),
        (NEAREST, {"labels": "learns from labels, and toy has none: ", "relevance": NEITHER}),
    ):
        vectors(tmp_path, protocol)
        for name, method in usable:
            run = Run.resolve("toy", "s1", name, {"bits": 16, **(HEAD if method.needs_torch else {})})
            phrase = refused.get(method.supervision)
            with one_line(f"^{name} {phrase}") if phrase else nullcontext():
                require_supervision(run)
    with one_line(f"talr_ap {NEITHER}"):
        row_of(Run.resolve("toy", "s1", "talr_ap", {"bits": 16, **HEAD}), Store(tmp_path / "results"))
    assert not (tmp_path / "results").exists()
