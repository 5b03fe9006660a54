"""``hashbench eval --exclude-self``: a query that is an item of the database is no neighbour of itself."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandLine
from support.small_pieces import small_pieces

import hashbench as library

N = 60
N_BITS = 10
NOTE = "note: every query is an item of the database and its own neighbour: --exclude-self leaves it out\n"
METRICS = "ap,ndcg,precision@5,auc,mrr,f1@r2,pr_area"
LEFT_OUT = "eval codes.npz --exclude-self"


def arrays(multi_hot: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (N, 5)) if multi_hot else rng.integers(-1, 4, N)
    return rng.integers(0, 2, (N, N_BITS), np.uint8), labels


def save(codes: np.ndarray, labels: np.ndarray, rows: Any, path: str = "codes.npz", **ids: Any) -> None:
    """Queries that are ``rows`` of the database."""
    sides = {"query_codes": codes[rows], "query_labels": labels[rows]}
    np.savez(path, **sides, database_codes=codes, database_labels=labels, **ids)


@pytest.fixture(autouse=True)
def in_many_pieces(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_pieces(monkeypatch, slab_bytes=200, items=16)


def means(hashbench: CommandLine, *options: str) -> dict[str, float]:
    return {name: value["mean"] for name, value in hashbench.json(*options)["metrics"].items()}


@pytest.mark.parametrize("multi_hot", [False, True])
def test_the_same_items_need_no_ids(hashbench: CommandLine, multi_hot: bool) -> None:
    codes, labels = arrays(multi_hot)
    save(codes, labels, np.arange(N))
    due = library.score(codes, codes, labels, labels, METRICS, exclude_self=True)
    assert means(hashbench, LEFT_OUT, f"--metric {METRICS}") == dict(due)
    assert means(hashbench, f"eval codes.npz --metric {METRICS}") != dict(due)
    due = library.score(codes, codes, labels, labels, "ap,mrr", "best", exclude_self=True)
    assert means(hashbench, LEFT_OUT, "--metric ap,mrr --ties best") == dict(due)


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_ids_say_which_item_a_query_is(hashbench: CommandLine, kind: str) -> None:
    rows = np.array([40, 3, 59, 3, 17])
    ids = np.arange(N) * 7 + 1000
    if kind == "texts":
        ids = np.array([f"image {i}" for i in ids])
    codes, labels = arrays()
    save(codes, labels, rows, query_ids=ids[rows], database_ids=ids)
    due = library.score(codes[rows], codes, labels[rows], labels, METRICS, exclude_self=rows)
    assert means(hashbench, LEFT_OUT, f"--metric {METRICS}") == dict(due)
    assert "5 queries are left out of their own ranking" in hashbench.done(LEFT_OUT).lines


def test_some_queries_may_be_no_items(hashbench: CommandLine) -> None:
    codes, labels = arrays()
    rows = np.flatnonzero(labels >= 0)[:3]
    own_row = np.array([rows[0], -1, rows[2]])
    save(codes, labels, rows, query_ids=np.where(own_row < 0, 1000, own_row), database_ids=np.arange(N))
    due = library.score(codes[rows], codes, labels[rows], labels, "ap,auc", exclude_self=own_row)
    assert means(hashbench, LEFT_OUT, "--metric ap,auc") == dict(due)
    assert hashbench.json(LEFT_OUT)["excluded_self"] == 2
    hashbench.done(LEFT_OUT, "--curves curves")  # the queries have 59, 60 and 59 items
    assert len(Path("curves/precision_at_n.csv").read_text().splitlines()) == 1 + N - 1


def test_ids_can_be_in_files_of_their_own(hashbench: CommandLine) -> None:
    rows = np.array([40, 3, 59])
    codes, labels = arrays()
    save(codes, labels, rows)
    np.save("q.npy", rows)
    np.savez("ids.npz", database_ids=np.arange(N), other=np.zeros(3))
    options = "--array query-ids=q.npy --array database-ids=ids.npz"
    due = library.score(codes[rows], codes, labels[rows], labels, "ap", exclude_self=rows)
    assert means(hashbench, LEFT_OUT, "--metric ap", options) == dict(due)
    assert "3 queries are in the database, by their ids" in hashbench.done("eval codes.npz", options).out


def test_a_note_says_that_it_may_be_meant_or_that_nothing_is_left_out(hashbench: CommandLine) -> None:
    rows = np.array([4, 2, 9])
    save(*arrays(), np.arange(N), "same.npz")
    save(*arrays(), rows, "ids.npz", query_ids=rows, database_ids=np.arange(N))
    save(*arrays(), rows, "part.npz")
    for name, note in {"same": NOTE, "ids": NOTE, "part": ""}.items():
        assert note in hashbench.done(f"eval {name}.npz").err
    assert hashbench.done("eval part.npz").err == ""
    for name in ("same", "ids"):
        assert hashbench.done(f"eval {name}.npz --exclude-self").err == ""
    np.save("others.npy", np.arange(3) + 1000)
    answer = hashbench.done("eval ids.npz --exclude-self --array query-ids=others.npy")
    assert answer.err == "note: --exclude-self: no query is in the database, by the ids\n"
    assert "left out of their own" not in answer.out


def test_items_without_a_class_are_counted(hashbench: CommandLine) -> None:
    codes, labels = arrays()
    save(codes, labels, np.arange(20))
    n_queries = int((labels[:20] < 0).sum())
    n_items = int((labels < 0).sum())
    line = f"{n_queries} queries and {n_items} items have no class: a negative class id, or no label"
    assert f"find nothing within Hamming radius 2 {line} codes " in hashbench.done("eval codes.npz").text
    assert hashbench.json("eval codes.npz")["without_class"] == {"queries": n_queries, "database": n_items}
    hot = (arrays(multi_hot=True)[1] * (np.arange(N) != 3)[:, None])[:, :2]
    save(codes, hot, np.arange(N))
    n_empty = int((~hot.any(axis=1)).sum())
    assert f"{n_empty} queries and {n_empty} items have no class" in hashbench.done("eval codes.npz").out
