"""HH: the projections are those of the whole graph, and the rotation is the nearest to a matrix of equal columns."""

import numpy as np
from scipy.linalg import polar
from support.fits import data_of, function_of

from hashbench.learning.methods import Linear
from hashbench.learning.methods._anchors import clustered
from hashbench.learning.methods.harmonious import Settings

RANDOM = np.random.default_rng(0)
FEATURES = RANDOM.standard_normal((100, 6)) * [5, 4, 3, 2, 1, 0] + 3


def fitted(seed: int = 5, **changes: int) -> Linear:
    values = {"bits": 3, "n_anchors": 20, "nearest": 4, "kmeans_iterations": 5, **changes}
    return function_of(Linear, "harmonious", Settings(features="pixels", **values), data_of(FEATURES, seed=seed))  # type: ignore[arg-type]


def graph(seed: int = 5) -> np.ndarray:
    """W [n, n], example by example."""
    anchors = clustered(FEATURES, 20, 5, seed).cluster_centers_
    z = np.zeros((100, 20))
    for i, x in enumerate(FEATURES):
        distances = np.linalg.norm(x - anchors, axis=1)
        near = np.argsort(distances)[:4]
        z[i, near] = 0.75 * (1 - (distances[near] / distances[near[-1]]) ** 2)
    shared = z @ z.T
    root = np.sqrt(shared.sum(axis=1))
    return shared / root / root[:, None]


def test_projections_are_rotated_eigenvectors_of_the_graph() -> None:
    centred = FEATURES - FEATURES.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ graph() @ centred)
    axes = vectors[:, :-4:-1]
    p = fitted().projection
    rotation = axes.T @ p
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(axes @ rotation, p, atol=1e-9)


def test_no_rotation_is_nearer_to_the_target() -> None:
    target, _ = polar(np.random.default_rng(5).standard_normal((100, 3)))
    np.testing.assert_allclose(target.T @ target, np.eye(3), atol=1e-12)
    actual = fitted().activations(FEATURES)
    best = np.square(actual - target).sum()
    for scale in (0.01, 0.1, 1):
        for _ in range(100):
            other = np.linalg.qr(np.eye(3) + scale * RANDOM.standard_normal((3, 3)))[0]
            assert np.square(actual @ other - target).sum() >= best
