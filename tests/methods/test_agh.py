"""AGH: the eigenvectors and the thresholds are those of the whole graph of the examples."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from support.fits import data_of, function_of

from hashbench.learning.methods.agh import AnchorGraph, Settings, eigenvectors, thresholds
from hashbench.learning.steps import anchor_weights, squared_distances

RANDOM = np.random.default_rng(0)
FEATURES = RANDOM.standard_normal((120, 3))
ANCHORS = FEATURES[:15] + 0.1
Z = anchor_weights(squared_distances(FEATURES, ANCHORS), 4, 1.5)
GRAPH = Z @ np.diag(1 / Z.sum(axis=0)) @ Z.T


def settings(**changes: int) -> Settings:
    return Settings(features="pixels", **{"bits": 8, "n_anchors": 15, "nearest": 4, "kmeans_iterations": 5, **changes})


def fitted(chosen: Settings, features: np.ndarray = FEATURES) -> AnchorGraph:
    return function_of(AnchorGraph, "agh", chosen, data_of(features))


def test_weights_are_those_of_the_nearest_anchors() -> None:
    for x, row in zip(FEATURES[:20], Z, strict=False):
        distances = ((x - ANCHORS) ** 2).sum(axis=1)
        near = np.argsort(distances)[:4]
        kernel = np.exp(-distances[near] / 1.5**2)
        np.testing.assert_allclose(row[near], kernel / kernel.sum())
        assert row.sum() == pytest.approx(1)
    assert np.isfinite(anchor_weights(np.array([[1e6, 2e6, 3e6]]), 2, 0.1)).all()  # far from all anchors


def test_the_graph_has_these_eigenvectors() -> None:
    np.testing.assert_allclose(GRAPH.sum(axis=1), 1)
    y = Z @ eigenvectors(Z)
    values = np.sort(np.linalg.eigvalsh(GRAPH))[::-1]
    np.testing.assert_allclose(y.T @ y, np.eye(y.shape[1]), atol=1e-9)
    np.testing.assert_allclose(GRAPH @ y, y * values[1 : 1 + y.shape[1]], atol=1e-9)
    np.testing.assert_allclose(y.sum(axis=0), 0, atol=1e-9)  # balanced: orthogonal to the constant eigenvector


@pytest.mark.parametrize("k", range(3))
def test_thresholds_minimise_the_cut_of_a_balanced_second_layer(k: int) -> None:
    y = (Z @ eigenvectors(Z))[:, k]
    positive = y > 0
    laplacian = np.eye(len(Z)) - GRAPH

    def second(b: float) -> np.ndarray:
        """The second layer for b+ = b, with the b- that makes its sum 0."""
        lower = (y[~positive].sum() - (y[positive] - b).sum()) / (~positive).sum()
        return np.where(positive, y - b, lower - y)

    upper, lower = (float(b[0]) for b in thresholds(Z, y[:, None]))
    assert upper == pytest.approx(minimize_scalar(lambda b: second(b) @ laplacian @ second(b)).x, abs=1e-6)
    np.testing.assert_allclose(second(upper), np.where(positive, y - upper, lower - y), atol=1e-9)


def test_an_odd_number_of_bits_has_one_eigenvector_with_a_first_bit_alone() -> None:
    odd = fitted(settings(bits=7))
    even = fitted(settings(bits=8))
    assert odd.projection.shape[1] == 4
    assert len(odd.upper) == 3
    # products with 7 columns and with 8 may be rounded in another way
    np.testing.assert_allclose(odd.activations(FEATURES), even.activations(FEATURES)[:, :7], rtol=0, atol=1e-12)
