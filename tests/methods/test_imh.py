"""IMH: the eigenmap is that of the paper's graph, the map that of the library, and an item the mean of its anchors."""

import numpy as np
from support.fits import data_of, function_of

from hashbench.learning.methods._anchors import AnchorEmbedding
from hashbench.learning.methods.imh import Settings

RANDOM = np.random.default_rng(0)
FEATURES = RANDOM.standard_normal((90, 4)) + 2


def settings(**changes: object) -> Settings:
    setting_values = {"bits": 6, "n_anchors": 20, "nearest": 3, "kmeans_iterations": 5, "embedding": "laplacian"}
    return Settings(features="pixels", **{**setting_values, "perplexity": 5, "neighbours": 4, **changes})  # type: ignore[arg-type]


def fitted(chosen: Settings, features: np.ndarray = FEATURES) -> AnchorEmbedding:
    return function_of(AnchorEmbedding, "imh", chosen, data_of(features))


def kernel(items: np.ndarray, others: np.ndarray, nearest: int) -> np.ndarray:
    """exp(-d^2 / sigma^2) of the nearest, sigma the mean distance to the last of them; 0 of the others."""
    distances = np.linalg.norm(items[:, None] - others[None], axis=2)
    sigma = np.sort(distances, axis=1)[:, nearest - 1].mean()
    actual = np.zeros(distances.shape)
    for i, row in enumerate(distances):
        for j in np.argsort(row)[:nearest]:
            actual[i, j] = np.exp(-(row[j] ** 2) / sigma**2)
    return actual


def test_the_eigenmap_is_that_of_the_graph() -> None:
    function = fitted(settings())
    anchors = function.anchors
    graph = kernel(anchors, anchors, 4)
    joins = kernel(FEATURES, anchors, 3)
    graph = np.maximum(graph, graph.T)
    m = np.diag(graph.sum(axis=1)) - graph
    t = np.diag(joins.sum(axis=0)) - (joins / joins.sum(axis=1, keepdims=True)).T @ joins
    values, _ = np.linalg.eigh(m + 2 * t)
    v = function.projection
    np.testing.assert_allclose((m + 2 * t) @ v, v * values[1:7], atol=1e-9)  # the first is constant
    np.testing.assert_allclose(v.T @ v, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(v.sum(axis=0), 0, atol=1e-9)
