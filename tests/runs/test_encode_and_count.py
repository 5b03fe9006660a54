"""Whole runs on sets of other kinds than classes of images: several labels, features, distances, larger than memory."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.one_line import one_line
from support.stored_toy import parts, store_toy

from hashbench.learning import contract as hasher_module
from hashbench.learning.contract import BinaryHasher, BinaryOutput, ItemRows, SearchItems
from hashbench.running.datasets import stored_file
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.split import Split
from hashbench.running.datasets.store import open_dataset
from hashbench.running.features import open_features
from hashbench.running.runs.data import open_data
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring import histogram
from hashbench.scoring.codes import files, pack
from hashbench.scoring.histogram import counting

MULTI = """
[protocols.s1]
draw = "per_label"
title = "2 queries and 8 training images a label"
citation = "none"
queries_per_label = 2
train_per_label = 8
"""
PARTS = parts(20, 60, 200)
PERCENTILES = '\n[protocols.s1.relevance]\nkind = "percentiles"\npercent = [5.0, 1.0, 0.5]\nlevels = [1, 2, 5]\n'
NEAREST = '\n[protocols.s1.relevance]\nkind = "nearest"\npercent = 2.0\n'
NO_LABELS = np.zeros((200, 0), np.uint8)


def features(n: int = 200) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal((n, 16)).astype(np.float32)


def measured(cell: Run, tmp_path: Path) -> tuple[Row, Path]:
    results = Store(tmp_path / "results")
    row = row_of(cell, results)
    assert row.status == "ok", row.reason
    return row, results.run_folder(row.run)


@pytest.mark.parametrize("method", ["lsh", "talr-ap"])
def test_several_labels_train_encode_and_score(method: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    hot = (rng.random((120, 4)) < 0.4).astype(np.uint8)
    hot[~hot.any(axis=1), 0] = 1
    images = (rng.integers(0, 60, (120, 4, 4, 3)) + hot[:, :, None, None] * 150).astype(np.uint8)
    store_toy(tmp_path, images, hot, MULTI)
    settings = {"bits": 12, **({"model": "mlp", "epochs": 40, "batch_size": 16} if method == "talr-ap" else {})}
    row, folder = measured(Run.resolve("toy", "s1", method, settings), tmp_path)
    counted = histogram.Histogram.load(folder / "histogram.npz")
    assert counted.levels.tolist() == [0, 1, 2, 3, 4][: len(counted.levels)]
    saved = files.load(folder / "codes.npz")
    np.testing.assert_array_equal(histogram.count(saved.query, saved.database, saved.relevance).counts, counted.counts)
    assert row.metrics["ap"].n_queries == 8
    relevant = float((hot.astype(int) @ hot.T > 0).mean())
    assert row.metrics["ap"].mean > relevant + (0.1 if method == "talr-ap" else 0)


@pytest.mark.parametrize("relevance", [PERCENTILES, NEAREST])
def test_relevance_by_distance_is_scored(relevance: str, tmp_path: Path) -> None:
    items = features()
    store_toy(tmp_path, items, NO_LABELS, PARTS + relevance)
    row, folder = measured(Run.resolve("toy", "s1", "lsh", {"bits": 16}), tmp_path)
    counted = histogram.Histogram.load(folder / "histogram.npz")
    assert counted.levels.tolist() == ([0, 1, 2, 5] if relevance is PERCENTILES else [0, 1])
    assert counted.counts.shape[0] == row.metrics["ap"].n_queries == 20
    if relevance is NEAREST:
        near = np.sort(np.linalg.norm(items[:20, None] - items[None, 20:], axis=2), axis=1)
        assert counted.n_relevant.tolist() == [4] * 20  # 2% of 180, rounded
        assert (near[:, 3] < near[:, 4]).all()
    # labels say nothing of it, so that eval must not score it by them
    with one_line("query_labels is missing"):
        files.load(folder / "codes.npz")
    with np.load(folder / "codes.npz", allow_pickle=False) as file:
        assert file["query_ids"].tolist() == list(range(20))
        assert file["dataset"] == "toy"
        codes = pack(file["query_codes"]), pack(file["database_codes"])
    data = open_data(Run.resolve("toy", "s1", "lsh", {"bits": 16}))
    relevance = data.relevance
    again = BinaryOutput(*codes, data.search_items)
    np.testing.assert_array_equal(histogram.count(again.query, again.database, relevance).counts, counted.counts)
    whole = counting.counter(again.query)  # not piece by piece
    whole.add(again.database, relevance)
    np.testing.assert_array_equal(whole.histogram().counts, counted.counts)


def test_relevance_may_be_by_distances_of_features(tmp_path: Path) -> None:
    """The images are hashed by their pixels; how relevant they are to each other, their GIST says."""
    images = np.random.default_rng(0).integers(0, 256, (70, 32, 32, 3)).astype(np.uint8)
    of_gist = PERCENTILES.replace("[protocols.s1.relevance]", '[protocols.s1.relevance]\nfeatures = "gist"')
    store_toy(tmp_path, images, np.zeros((70, 0), np.uint8), parts(10, 40, 70) + of_gist)
    _, folder = measured(Run.resolve("toy", "s1", "lsh", {"bits": 16}), tmp_path)
    gist = open_features(load_card("toy"), "gist").array.astype(np.float64)
    gist -= gist[10:50].mean(axis=0)
    gist /= np.linalg.norm(gist, axis=1, keepdims=True)
    far = np.linalg.norm(gist[:, None] - gist[None], axis=2)
    of_pairs = np.percentile(far[10:50, 10:50][np.triu_indices(40, 1)], [5.0, 1.0, 0.5], method="hazen")
    n_near = [(far[:10, 10:] <= threshold).sum() for threshold in of_pairs]
    counts = histogram.Histogram.load(folder / "histogram.npz").counts.sum(axis=(0, 1))
    assert n_near[0] > n_near[1] > 0  # so that the test can fail
    assert counts[1:].tolist() == [*-np.diff(n_near), n_near[-1]][: len(counts) - 1]


SGD = {"optimiser": "sgd", "momentum": 0.9, "lr": 0.5}
LINEAR = {"model": "linear", "bits": 12, "epochs": 20, "batch_size": 60, "normalise": "unit_norm", **SGD}


@pytest.mark.parametrize(
    "method, settings",
    [
        ("talr-ndcg", {"tanh_scale": 2.0}),
        ("dtsh", {"pairing": "memory", "batch_size": 30, "lr": 0.05}),
    ],
)
def test_what_is_near_is_learned_without_labels(method: str, settings: dict[str, str | float], tmp_path: Path) -> None:
    groups = features(8)[np.arange(200) % 8] + 0.7 * features()
    store_toy(tmp_path, groups, NO_LABELS, PARTS + PERCENTILES.replace("5.0,", "12.0,"))
    random, _ = measured(Run.resolve("toy", "s1", "lsh", {"bits": 12}), tmp_path)
    row, folder = measured(Run.resolve("toy", "s1", method, {**LINEAR, **settings}), tmp_path)
    assert row.metrics["ndcg"].mean > random.metrics["ndcg"].mean + 0.03
    losses = [json.loads(line)["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert losses[-1] < losses[0]


def test_without_labels_and_relevance_there_is_nothing_to_score(tmp_path: Path) -> None:
    store_toy(tmp_path, features(), NO_LABELS, PARTS)
    with one_line("toy: it has no labels: its protocol needs relevance"):
        row_of(Run.resolve("toy", "s1", "lsh", {"bits": 8}), Store(tmp_path / "results"))


class Sums(BinaryHasher):
    """A hasher whose bit depends on the item alone; it remembers how many it was given at once."""

    most = 0

    def encode(self, items: NDArray[np.float32], *, progress: bool = False) -> NDArray[np.float32]:
        assert type(items) is np.ndarray or isinstance(items, np.memmap)
        self.most = max(self.most, len(items))
        return items[:, :5] - items[:, 5:10]

    def save(self, folder: Path) -> None: ...


def test_a_set_larger_than_memory_is_encoded_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_file, "IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(hasher_module, "BLOCK_BYTES", 1)
    monkeypatch.setattr(hasher_module, "WHOLE_BATCHES", 7)
    store_toy(tmp_path, items := features(), NO_LABELS, PARTS + NEAREST)
    data = open_dataset(load_card("toy"))
    assert isinstance(data.items, np.memmap)
    order = np.arange(199, 19, -1)
    ids = Split(np.arange(20), order, np.arange(20))
    hasher = Sums()
    rows = (ItemRows(data.items, ids, data.labels[ids]) for ids in (ids.query_ids, ids.database_ids))
    result = hasher.output(SearchItems("toy", *rows))
    assert hasher.most == 7
    np.testing.assert_array_equal(result.database.bits(), items[order, :5] > items[order, 5:10])
    assert result.query.shape == (20, 5)
