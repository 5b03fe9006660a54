"""``hashbench eval --exclude-self``: a query that is an item of the database is no neighbour of itself."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_pieces import small_pieces
from typer.testing import CliRunner

import hashbench
from hashbench.cli._app import app

N, N_BITS = 60, 10
NOTE = "note: every query is an item of the database and its own neighbour: --exclude-self leaves it out\n"
METRICS = "ap,ndcg,precision@5,auc,mrr,f1@r2,pr_area"


def arrays(multi_hot: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (N, 5)) if multi_hot else rng.integers(-1, 4, N)
    return rng.integers(0, 2, (N, N_BITS), np.uint8), labels


def sides(codes: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays of a file whose queries are ``rows`` of its database."""
    return {
        "query_codes": codes[rows],
        "query_labels": labels[rows],
        "database_codes": codes,
        "database_labels": labels,
    }


def save(path: Path, rows: np.ndarray, ids: Any = None, multi_hot: bool = False, **more: Any) -> Path:
    """Queries that are ``rows`` of the database; ``ids`` name the items."""
    codes, labels = arrays(multi_hot)
    named = {} if ids is None else {"query_ids": ids[rows], "database_ids": ids}
    np.savez(path, **sides(codes, labels, rows), **named, **more)
    return path


def run(*arguments: object) -> Any:
    result = CliRunner().invoke(app, ["eval", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def means(*arguments: object) -> dict[str, float]:
    printed = json.loads(run(*arguments, "--json").stdout)["metrics"]
    return {name: value["mean"] for name, value in printed.items()}


@pytest.fixture(autouse=True)
def in_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch, slab_bytes=200, items=16)


@pytest.mark.parametrize("multi_hot", [False, True])
def test_the_same_items_need_no_ids(tmp_path: Path, multi_hot: bool) -> None:
    path = save(tmp_path / "codes.npz", np.arange(N), multi_hot=multi_hot)
    codes, labels = arrays(multi_hot)
    for ties in ("expected", "best"):
        names = METRICS.replace(",pr_area", "") if ties == "best" else METRICS
        truth = hashbench.score(codes, codes, labels, labels, names, ties, exclude_self=True)  # type: ignore[arg-type]
        found = means(path, "--exclude-self", "--metric", names, "--ties", ties)
        assert found == dict(truth)
    assert found != means(path, "--metric", names, "--ties", "best")


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_ids_say_which_item_a_query_is(tmp_path: Path, kind: str) -> None:
    rows = np.array([40, 3, 59, 3, 17])
    ids = np.arange(N) * 7 + 1000
    path = save(tmp_path / "codes.npz", rows, ids if kind == "numbers" else np.array([f"image {i}" for i in ids]))
    codes, labels = arrays()
    truth = hashbench.score(codes[rows], codes, labels[rows], labels, METRICS, exclude_self=rows)
    assert means(path, "--exclude-self", "--metric", METRICS) == dict(truth)
    shown = run(path, "--exclude-self").stdout.splitlines()
    assert "5 queries are left out of their own ranking" in shown


def test_some_queries_may_be_no_items(tmp_path: Path) -> None:
    codes, labels = arrays()
    rows = np.flatnonzero(labels >= 0)[:3]
    own = np.array([rows[0], -1, rows[2]])
    path = tmp_path / "codes.npz"
    np.savez(path, **sides(codes, labels, rows), query_ids=np.where(own < 0, 1000, own), database_ids=np.arange(N))
    truth = hashbench.score(codes[rows], codes, labels[rows], labels, "ap,auc", exclude_self=own)
    assert means(path, "--exclude-self", "--metric", "ap,auc") == dict(truth)
    printed = json.loads(run(path, "--exclude-self", "--json").stdout)
    assert printed["excluded_self"] == 2
    run(path, "--exclude-self", "--curves", tmp_path / "curves")  # the queries have 59, 60 and 59 items
    lines = (tmp_path / "curves" / "precision_at_n.csv").read_text().splitlines()
    assert len(lines) == 1 + N - 1


def test_ids_can_be_in_files_of_their_own(tmp_path: Path) -> None:
    rows = np.array([40, 3, 59])
    path = save(tmp_path / "codes.npz", rows)
    np.save(tmp_path / "q.npy", rows)
    np.savez(tmp_path / "ids.npz", database_ids=np.arange(N), other=np.zeros(3))
    options = ["--array", f"query-ids={tmp_path / 'q.npy'}", "--array", f"database-ids={tmp_path / 'ids.npz'}"]
    codes, labels = arrays()
    truth = hashbench.score(codes[rows], codes, labels[rows], labels, "ap", exclude_self=rows)
    assert means(path, "--exclude-self", "--metric", "ap", *options) == dict(truth)
    assert "3 queries are in the database, by their ids" in run(path, *options).stdout


def test_trec_files_hold_no_query_as_its_own_item(tmp_path: Path) -> None:
    rows = np.array([1, 0])
    codes, labels = np.array([[0, 0], [0, 0], [0, 1]], np.uint8), np.array([1, 1, 1])
    path = tmp_path / "codes.npz"
    np.savez(path, **sides(codes, labels, rows), query_ids=rows, database_ids=np.arange(3))
    run(path, "--exclude-self", "--trec", tmp_path / "trec")
    lines = ["q0 Q0 d0 1 2", "q0 Q0 d2 2 1", "q1 Q0 d1 1 2", "q1 Q0 d2 2 1"]
    assert (tmp_path / "trec" / "run.txt").read_text() == "".join(f"{line} hashbench\n" for line in lines)
    assert (tmp_path / "trec" / "qrels.txt").read_text() == "q0 0 d0 1\nq0 0 d2 1\nq1 0 d1 1\nq1 0 d2 1\n"


def test_a_note_says_that_it_may_be_meant(tmp_path: Path) -> None:
    same = save(tmp_path / "same.npz", np.arange(N))
    by_ids = save(tmp_path / "ids.npz", np.array([4, 2, 9]), np.arange(N))
    part = save(tmp_path / "part.npz", np.array([4, 2, 9]))
    assert NOTE in run(same).stderr
    assert NOTE in run(by_ids).stderr
    assert run(part).stderr == ""
    for path in (same, by_ids):
        assert run(path, "--exclude-self").stderr == ""


def test_a_note_says_that_nothing_is_left_out(tmp_path: Path) -> None:
    path = save(tmp_path / "codes.npz", np.array([4, 2]), np.arange(N))
    np.save(tmp_path / "others.npy", np.array([1000, 1001]))
    shown = run(path, "--exclude-self", "--array", f"query-ids={tmp_path / 'others.npy'}")
    assert shown.stderr == "note: --exclude-self: no query is in the database, by the ids\n"
    assert "left out of their own" not in shown.stdout


def test_a_query_without_its_twin_is_no_leak(tmp_path: Path) -> None:
    codes, labels = np.eye(4, 5, dtype=np.uint8), np.zeros(4, int)
    path = tmp_path / "codes.npz"
    np.savez(path, query_codes=codes, query_labels=labels, database_codes=codes, database_labels=labels)
    found = [
        json.loads(run(path, *more, "--json").stdout)["leak"]["twins_in_database"] for more in ([], ["--exclude-self"])
    ]
    assert found == [4, 0]


def test_items_without_a_class_are_counted(tmp_path: Path) -> None:
    codes, labels = arrays()
    path = save(tmp_path / "codes.npz", np.arange(20))
    n_queries, n_items = int((labels[:20] < 0).sum()), int((labels < 0).sum())
    assert n_queries and n_items
    shown = " ".join(run(path).stdout.split())
    line = f"{n_queries} queries and {n_items} items have no class: a negative class id, or no label"
    assert f"find nothing within Hamming radius 2 {line} codes " in shown
    assert json.loads(run(path, "--json").stdout)["without_class"] == {"queries": n_queries, "database": n_items}
    hot = (arrays(multi_hot=True)[1] * (np.arange(N) != 3)[:, None])[:, :2]
    np.savez(path, query_codes=codes, query_labels=hot, database_codes=codes, database_labels=hot)
    empty = int((~hot.any(axis=1)).sum())
    assert f"{empty} queries and {empty} items have no class" in run(path).stdout
