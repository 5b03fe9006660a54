"""Vector quantisation: nearest centroids by the definition, k-means by scikit-learn."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from support.one_line import one_line

from hashbench.learning.contract import DamagedHasher, SavedHasher
from hashbench.learning.methods.sparse_vq import METHOD
from hashbench.learning.sparse import quantise
from hashbench.learning.sparse.codes import top_k
from hashbench.learning.sparse.hasher import ExhaustiveSearch
from hashbench.learning.sparse.quantise import Centroids, fit


@given(st.integers(0, 10**6))
def test_activations_are_squared_distances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, width, n = rng.integers(1, 9, 3)
    centres = rng.integers(-3, 4, (d, width)).astype(np.float32)
    rows = rng.integers(-3, 4, (n, width)).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantise, "BLOCK_ROWS", 3)
        activations = Centroids(centres).activations(rows)
    assert (-activations).tolist() == [[((row - centre) ** 2).sum() for centre in centres] for row in rows]


def test_far_from_the_origin_rounding_decides_nothing() -> None:
    centres = np.float32(1000) + np.arange(8, dtype=np.float32)[:, None] * np.float32(1e-3)
    activations = Centroids(centres).activations(centres)
    assert top_k(activations, 1).buckets[:, 0].tolist() == list(range(8))
    assert (activations <= 0).all()


def test_centroids_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(4)
    rows = (rng.standard_normal((200, 6)) + 4 * rng.integers(0, 3, (200, 1))).astype(np.float32)
    centroids = fit(rows, 10, seed=2**40 + 7)
    expected = KMeans(10, random_state=7, n_init=1).fit(rows)
    assert np.array_equal(centroids.centres, expected.cluster_centers_)
    assert top_k(centroids.activations(rows), 1).buckets[:, 0].tolist() == expected.predict(rows).tolist()


def test_what_cannot_be_clustered_is_refused() -> None:
    with one_line("4 centroids of 3 embeddings"):
        fit(np.zeros((3, 2)), 4, seed=0)
    with one_line("embeddings: not finite"):
        fit(np.full((3, 2), np.nan), 2, seed=0)


def test_a_damaged_hasher_is_one_line(tmp_path: Path) -> None:
    settings = METHOD.settings(base="triplet", d=4, k=1, model="mlp", fit_on="searched", n_init=1)  # type: ignore[call-arg]
    (tmp_path / "hasher.json").write_text('{"seed": "many"}')
    with pytest.raises(DamagedHasher, match=r"hasher\.json: "):
        METHOD.load(settings, SavedHasher(tmp_path, "cpu", ExhaustiveSearch(None)))  # type: ignore[arg-type]
