"""Relevances of protocols, against the whole matrix of distances."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.all_distances import all_distances
from support.one_line import one_line

from hashbench.learning.losses import DistanceSupervision
from hashbench.running.datasets.protocol import Nearest, Parts, Percentiles
from hashbench.running.datasets.relevance import relevance_of, relevance_of_training
from hashbench.running.datasets.split import Split, split
from hashbench.running.datasets.store import Dataset
from hashbench.scoring.relevance import distances as by_distance
from hashbench.scoring.relevance import percentiles as by_rank
from hashbench.scoring.relevance.distances import DistanceRelevance
from hashbench.scoring.relevance.labels import ClassRelevance, SharedLabelRelevance

N = 90
PARTS = {"title": "", "citation": "", "draw": "parts", "query": [0, 10], "database": [10, 90], "train": [40, 80]}
LABELME = Percentiles(kind="percentiles", percent=[20, 5, 1, 0.5], levels=[1, 2, 5, 10])


def drawn(items: np.ndarray, relevance: Percentiles | Nearest | None) -> tuple[Dataset, Split, Parts]:
    data = Dataset("toy", items, np.zeros((len(items), 0), np.uint8), "")
    rule = Parts(**PARTS, relevance=relevance)
    return data, split(data.labels, rule, "toy", "s1"), rule


def full_block(relevance: DistanceRelevance) -> np.ndarray:
    return relevance.levels[relevance.block(slice(0, relevance.shape[0]), slice(0, relevance.shape[1]))]


@given(st.integers(0, 2**32 - 1), st.sampled_from([7, 1000]), st.sampled_from(["percentiles", "released"]))
def test_percentiles_equal_the_definition_on_the_full_matrix(seed: int, tile: int, kind: str) -> None:
    """dMI's labelme_gist.m: minus the training mean, unit norm, percentiles of pdist, thresholds of all queries.

    TALR's affinity_multlv.m compares the squared distances with the same percentiles.
    """
    rule = LABELME.model_copy(update={"kind": kind})
    items = np.random.default_rng(seed).standard_normal((N, 12)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_rank, "TILE", tile)
        patch.setattr(by_distance, "PAIRS", 10 * tile)
        levels = full_block(relevance_of(*drawn(items, rule)))
    centred = items.astype(np.float64) - items[40:80].mean(axis=0, dtype=np.float64)
    unit = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    pairs = all_distances(unit[40:80], unit[40:80], "l2")[np.triu_indices(40, 1)]
    expected = np.zeros((10, 80), np.int64)
    for percent, level in zip(LABELME.percent, LABELME.levels, strict=True):
        distance = all_distances(unit[:10], unit[10:], "l2")
        compared = distance**2 if kind == "released" else distance
        expected[compared <= np.percentile(pairs, percent, method="hazen")] = level
    np.testing.assert_array_equal(levels, expected)


def test_training_has_the_relevance_that_is_scored() -> None:
    items = np.random.default_rng(0).standard_normal((N, 12)).astype(np.float32)
    blocks = {}
    for kind in ("percentiles", "released"):
        data, chosen, rule = drawn(items, LABELME.model_copy(update={"kind": kind}))
        scored = relevance_of(data, chosen, rule)
        trained = relevance_of_training(data, chosen, rule)
        assert isinstance(scored, DistanceRelevance)
        assert trained is not None
        assert trained.thresholds == scored.thresholds
        every = torch.arange(40)
        np.testing.assert_array_equal(DistanceSupervision(trained).levels(every), full_block(trained))
        blocks[kind] = full_block(trained)
    assert (blocks["percentiles"] != blocks["released"]).any()


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 2.0, 10.0, 100.0]), st.sampled_from([7, 1000]))
def test_the_nearest_equal_the_definition_on_the_full_matrix(seed: int, percent: float, tile: int) -> None:
    items = np.random.default_rng(seed).integers(0, 4, (N, 3)).astype(np.float32)  # many at equal distance
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_rank, "TILE", tile)
        levels = full_block(relevance_of(*drawn(items, Nearest(kind="nearest", percent=percent))))
    k = max(1, round(0.8 * percent))
    for row, distance in zip(levels, all_distances(items[:10], items[10:], "l2"), strict=True):
        assert row.tolist() == (distance <= np.sort(distance)[k - 1]).astype(int).tolist()


def test_images_count_as_their_pixels_and_are_read_in_blocks() -> None:
    images = np.random.default_rng(0).integers(0, 256, (N, 2, 3, 3), np.uint8)
    rule = Nearest(kind="nearest", percent=5)
    flat = relevance_of(*drawn(images.reshape(N, -1).astype(np.float32), rule))
    np.testing.assert_array_equal(full_block(relevance_of(*drawn(images, rule))), full_block(flat))


class Counted(np.ndarray):
    """Items that remember how many were asked for at once."""

    most = 0

    def __getitem__(self, key):  # type: ignore[no-untyped-def]
        chosen = super().__getitem__(key)
        Counted.most = max(Counted.most, len(np.atleast_2d(chosen)))
        return np.asarray(chosen)


def test_no_more_than_a_block_of_items_is_ever_made(monkeypatch: pytest.MonkeyPatch) -> None:
    from hashbench.running.datasets import relevance

    for module, name in ((by_rank, "TILE"), (by_distance, "ROWS"), (relevance, "BLOCK")):
        monkeypatch.setattr(module, name, 16)
    items = np.random.default_rng(0).standard_normal((N, 4)).view(Counted)
    for rule in (LABELME, Nearest(kind="nearest", percent=5)):
        near = relevance_of(*drawn(items, rule))
        assert sum(known.level.size for _, known in near.pieces()) == 800
    assert 0 < Counted.most <= 16


def test_an_item_that_is_the_mean_has_no_direction() -> None:
    items = np.random.default_rng(0).standard_normal((N, 4))
    items[5] = items[40:80].mean(axis=0)
    relevance = relevance_of(*drawn(items, LABELME))
    assert np.linalg.norm(relevance.query_features[5:6]) in (0.0, pytest.approx(1.0))
    assert np.isfinite(relevance.query_features[0:10]).all()


def test_labels_decide_where_the_protocol_says_nothing_else() -> None:
    rule = Parts(**PARTS)
    for labels, kind in ((np.arange(N) % 3, ClassRelevance), (np.ones((N, 2), np.uint8), SharedLabelRelevance)):
        data = Dataset("toy", np.zeros((N, 1)), labels, "")
        relevance = relevance_of(data, split(labels, rule, "toy", "s1"), rule)
        assert isinstance(relevance, kind)
        assert relevance.query_labels.tolist() == labels[:10].tolist()
        assert relevance.shape == (10, 80)


def test_what_cannot_be_is_one_line() -> None:
    with one_line(r"^toy: it has no labels: its protocol needs relevance"):
        relevance_of(*drawn(np.zeros((N, 1), np.float32), None))
    with one_line(r"^toy: percentiles .* are not all different"):
        relevance_of(*drawn(np.ones((N, 1), np.float32), LABELME))
