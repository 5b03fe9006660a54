"""The exact nearest neighbours of vectors, against all distances in float64."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.all_distances import all_distances
from support.one_line import one_line

from hashbench.running.datasets import neighbours
from hashbench.running.datasets.neighbours import StoredNeighbours, nearest, stored_neighbours
from hashbench.running.datasets.protocol import Neighbours
from hashbench.running.datasets.split import Split
from hashbench.running.datasets.store import Dataset

RNG = np.random.default_rng(3)
METRICS = ("l2", "cosine", "ip")
N = 3000
D = 12
Q = 23
K = 15
VECTORS = {
    "normal": RNG.standard_normal((N + Q, D)),
    "whole numbers, many ties": RNG.integers(1, 4, (N + Q, D)),
    "far from 0": RNG.standard_normal((N + Q, D)) + 1000,
    "half are one vector": np.where(np.arange(N + Q)[:, None] % 2, RNG.standard_normal((N + Q, D)), np.ones(D)),
    # float32 rounds away what tells the items of one cluster apart
    "two clusters": RNG.standard_normal((N + Q, D)) + np.where(np.arange(N + Q) % 2, 1000, -1000)[:, None],
    "nearest last": np.sort(RNG.standard_normal((N + Q, D)), axis=0)[::-1],
}


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("metric", METRICS)
def test_the_nearest_are_those_of_all_distances(metric: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "TILE_ITEMS", 256)
    monkeypatch.setattr(neighbours, "TILE_QUERIES", 7)
    vectors = VECTORS[kind].astype(np.float32)
    distances = all_distances(vectors[:Q], vectors[Q:], metric)
    ids, measured = nearest(vectors[:Q], vectors[Q:], K, metric)
    np.testing.assert_allclose(measured, np.sort(distances, axis=1)[:, :K], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(measured, np.take_along_axis(distances, ids, axis=1), rtol=1e-6, atol=1e-7)
    assert all(len(set(row)) == K for row in ids.tolist())
    if metric == "l2":  # where distances are equal to the last bit, the first item comes first
        np.testing.assert_array_equal(ids, np.argsort(distances, axis=1, kind="stable")[:, :K])


def test_what_cannot_be_compared_is_refused() -> None:
    vectors = RNG.standard_normal((20, 4))
    for queries, k, metric, fault in (
        (vectors[:, :3], 2, "l2", "of one width"),
        (vectors, 21, "l2", "k = 21 neighbours: the database has 20 items"),
        (np.where(np.eye(20, 4) > 0, np.nan, vectors), 2, "l2", "not finite"),
        (np.where(np.eye(20, 4) > 0, 1e19, vectors), 2, "ip", "a norm above 1e\\+18"),
        (vectors * (np.arange(20)[:, None] > 0), 2, "cosine", "norm 0 has no cosine"),
    ):
        with one_line(fault):
            nearest(queries, vectors, k, metric)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Dataset, Split]:
    monkeypatch.setenv("HASHBENCH_DATA", str(tmp_path))
    items = VECTORS["normal"][:400].astype(np.float32)
    queries = np.arange(0, 400, 20)
    database = np.setdiff1d(np.arange(400), queries)
    return Dataset("toy", items, np.zeros((400, 0), np.uint8), "0" * 64), Split(queries, database, database)


def test_they_are_computed_once_and_stored(data: tuple[Dataset, Split], monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, chosen = data
    rule = Neighbours(kind="neighbours", k=10, metric="l2")
    stored = stored_neighbours(dataset, chosen, rule)
    distances = all_distances(dataset.items[chosen.query_ids], dataset.items[chosen.database_ids], "l2")
    assert stored.ids.shape == (20, 100)
    np.testing.assert_array_equal(stored.ids, np.argsort(distances, axis=1)[:, :100])
    np.testing.assert_allclose(stored.beyond, np.sort(distances, axis=1)[:, 100], rtol=1e-6)
    others = [
        (dataset, chosen, rule.model_copy(update={"metric": "ip"})),
        (replace(dataset, sha256="1" * 64), chosen, rule),
        (dataset, replace(chosen, query_ids=chosen.query_ids[1:]), rule),
    ]
    for other in others:
        stored_neighbours(*other)
    (folder,) = {path.parent for path in Path(neighbours.path_of(dataset, chosen, rule)).parent.glob("*.npz")}
    with one_line("a norm above"):
        stored_neighbours(replace(dataset, items=dataset.items * np.float32(1e18), sha256="2" * 64), chosen, rule)
    assert len(list(folder.iterdir())) == 4  # and no lock
    monkeypatch.setattr(neighbours, "nearest", None)  # nothing is computed again
    again = stored_neighbours(dataset, chosen, rule.model_copy(update={"k": 3}))
    np.testing.assert_array_equal(again.ids, stored.ids)
    with one_line("k = 381 neighbours: the database has 380 items"):
        stored_neighbours(dataset, chosen, rule.model_copy(update={"k": 381}))


def test_ties_are_told() -> None:
    distances = np.array([[1, 2, 2, 3], [1, 2, 3, 3]], np.float32)
    stored = StoredNeighbours(np.zeros((2, 4), np.int32), distances, distances[:, 3] + [0, 1])
    assert [stored.n_tied_at(k) for k in (1, 2, 3, 4)] == [0, 1, 1, 1]
    assert stored.warnings(1) == []
    assert "1 of 2 queries have another item as near as number 4" in stored.warnings(4)[0]
