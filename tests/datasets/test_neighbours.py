"""The exact nearest neighbours of vectors, against all distances in float64."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.all_distances import all_distances
from support.one_line import one_line

from hashbench.running.datasets import neighbours
from hashbench.running.datasets.neighbours import StoredNeighbours, nearest, stored_neighbours, verified_neighbours
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


@pytest.mark.parametrize("kind", ["booleans", "signs", "vectors and their doubles", "booleans of norm 1"])
def test_equal_cosines_of_whole_numbers_tie(kind: str) -> None:
    n = 1500
    d = 30
    k = 20
    rows = np.arange(n + Q)
    twice = RNG.integers(-3, 5, (n + Q, d))[rows // 2] * (1 + rows[:, None] % 2)
    drawn = {"signs": RNG.choice([-1, 1], (n + Q, d)), "vectors and their doubles": twice}
    vectors = drawn.get(kind, RNG.integers(0, 2, (n + Q, d)))
    whole = vectors.tolist()
    if kind == "booleans":
        vectors = vectors.astype(np.bool_)
    if kind == "booleans of norm 1":
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    ids, distances = nearest(vectors[:Q], vectors[Q:], k + 1, "cosine")
    n_tied = 0
    for query, nearest_ids in zip(whole[:Q], ids.tolist(), strict=True):
        products = [sum(a * b for a, b in zip(query, item, strict=True)) for item in whole[Q:]]
        norms = [sum(a * a for a in item) for item in whole[Q:]]
        exact = [Fraction(-p * abs(p), norm) for p, norm in zip(products, norms, strict=True)]
        order = sorted(range(n), key=lambda item: (exact[item], item))
        assert nearest_ids == order[: k + 1]
        n_tied += exact[order[k - 1]] == exact[order[k]]
    assert n_tied > 0
    nothing = np.zeros(0, np.float32)
    kept = StoredNeighbours(ids[:, :k], distances[:, :k], distances[:, k], nothing, "cosine")
    assert kept.n_tied_at(k) == n_tied


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


def test_ties_and_noise_are_told() -> None:
    distances = np.array([[1, 2, 2, 3], [1, 2, 3, 3]], np.float32)
    stored = StoredNeighbours(np.zeros((2, 4), np.int32), distances, distances[:, 3] + [0, 1], distances[:, 3], "l2")
    assert [stored.n_tied_at(k) for k in (1, 2, 3, 4)] == [0, 1, 1, 1]
    assert stored.warnings(1) == []
    assert "1 of 2 queries have another item as near as number 4" in stored.warnings(4)[0]
    assert "1.00 times as far as the median item" in stored.warnings(4)[1]


def test_neighbours_of_a_file_are_compared_by_their_distances() -> None:
    vectors = VECTORS["whole numbers, many ties"].astype(np.float32)
    queries = vectors[:Q]
    items = vectors[Q:]
    ids = np.argsort(all_distances(queries, items[::-1], "l2"), axis=1)[:, :K]
    ids = N - 1 - ids  # other items than ours where distances are equal
    stored = verified_neighbours("file", ids, queries, items, "l2")
    np.testing.assert_allclose(stored.distances, nearest(queries, items, K, "l2")[1])
    assert np.isnan(stored.beyond).all()
    wrong = {
        "there is no row 3000: the database has rows 0 to 2999": np.where(ids == ids[3, 2], N, ids),
        "there is no row -1: the database has rows 0 to 2999$": np.where(ids == ids[3, 2], -1, ids),
        "query 0 has the neighbour [0-9]+ more than once": ids[:, [0, 1, 1]],
        "neighbour number 1 has the l2 distance": (ids + 7) % N,
        "ids of 22 queries": ids[1:],
    }
    for fault, others in wrong.items():
        with one_line(fault):
            verified_neighbours("file", others, queries, items, "l2")
