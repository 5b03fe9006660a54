"""Vector quantisation: nearest centroids by the definition, k-means by scikit-learn, files against damage."""

import logging
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.contract import DamagedHasher, SavedHasher
from hashbench.foundation.errors import HashbenchError
from hashbench.methods.sparse_vq import METHOD
from hashbench.sparse import quantise
from hashbench.sparse.codes import top_k
from hashbench.sparse.hasher import ExhaustiveSearch
from hashbench.sparse.quantise import Centroids, fit


@given(st.integers(0, 10**6))
def test_the_largest_activations_are_the_nearest_centroids(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, width, n = rng.integers(1, 9, 3)
    centres, rows = rng.integers(-3, 4, (d, width)).astype(float), rng.integers(-3, 4, (n, width)).astype(float)
    activations = Centroids(centres).activations(rows)
    squared = [[int(((row - centre) ** 2).sum()) for centre in centres] for row in rows]
    assert (-activations).tolist() == squared
    k = int(rng.integers(1, d + 1))
    nearest = [sorted(sorted(range(d), key=lambda centre: (each[centre], centre))[:k]) for each in squared]
    assert top_k(activations, k).buckets.tolist() == nearest


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    centroids, rows = Centroids(rng.standard_normal((5, 3))), rng.standard_normal((20, 3))
    whole = centroids.activations(rows)
    monkeypatch.setattr(quantise, "BLOCK_ROWS", 7)
    assert centroids.activations(rows) == pytest.approx(whole, abs=1e-12)


def test_far_from_the_origin_rounding_decides_nothing() -> None:
    centres = np.float32(1000) + np.arange(8, dtype=np.float32)[:, None] * np.float32(1e-3)
    activations = Centroids(centres).activations(centres)
    assert top_k(activations, 1).buckets[:, 0].tolist() == list(range(8))
    assert (activations <= 0).all()


def test_centroids_are_those_of_scikit_learn() -> None:
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(4)
    rows = (rng.standard_normal((200, 6)) + 4 * rng.integers(0, 3, (200, 1))).astype(np.float32)
    centroids = fit(rows, 10, seed=2**40 + 7)
    truth = KMeans(10, random_state=7, n_init=1).fit(rows)
    assert np.array_equal(centroids.centres, truth.cluster_centers_)
    assert top_k(centroids.activations(rows), 1).buckets[:, 0].tolist() == truth.predict(rows).tolist()
    assert not np.array_equal(fit(rows, 10, seed=8).centres, centroids.centres)


def test_a_centroid_an_embedding_stands_where_it_stands() -> None:
    rows = np.array([[0.0], [3.0], [9.0]])
    assert sorted(fit(rows, 3, seed=0).centres[:, 0].tolist()) == [0, 3, 9]


def test_equal_embeddings_are_said_in_a_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        centroids = fit(np.array([[0.0], [0.0], [5.0]]), 3, seed=0)
    assert caplog.messages == ["k-means: 2 of 3 centroids have an item; no more embeddings differ"]
    assert len(centroids.centres) == 3
    assert top_k(centroids.activations(np.array([[5.0], [0.0]])), 1).buckets.shape == (2, 1)


@pytest.mark.parametrize(
    ("embeddings", "d", "message"),
    [
        (np.zeros((3, 2)), 4, "4 centroids of embeddings of shape (3, 2): [n, m], and d from 1 to n"),
        (np.zeros((3, 2)), 0, "d from 1 to n"),
        (np.zeros((3, 0)), 2, "d from 1 to n"),
        (np.zeros(3), 1, "[n, m]"),
        (np.full((3, 2), np.nan), 2, "embeddings: not finite"),
    ],
)
def test_what_cannot_be_clustered_is_one_line(embeddings: np.ndarray, d: int, message: str) -> None:
    with pytest.raises(HashbenchError) as caught:
        fit(embeddings, d, seed=0)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rows", [np.zeros((4, 2)), np.zeros(3), np.full((1, 3), np.inf)])
def test_embeddings_that_do_not_fit_are_refused(rows: np.ndarray) -> None:
    with pytest.raises(HashbenchError, match=r"width 3|not finite"):
        Centroids(np.eye(3)).activations(rows)


def test_a_damaged_hasher_is_one_line(tmp_path: Path) -> None:
    settings = METHOD.settings(base="triplet", d=4, k=1, model="mlp", fit_on="searched", n_init=1)  # type: ignore[call-arg]
    stored = SavedHasher(tmp_path, "cpu", ExhaustiveSearch(None))  # type: ignore[arg-type]
    for text in ("", "{", "{}", '{"seed": "many"}'):
        (tmp_path / "hasher.json").write_text(text)
        with pytest.raises(DamagedHasher, match=r"hasher\.json: ") as caught:
            METHOD.load(settings, stored)
        assert "\n" not in str(caught.value)
