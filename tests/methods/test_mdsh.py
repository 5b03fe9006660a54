"""MDSH: the eigenfunctions of single components are those of the affinity of the whole space."""

import numpy as np
import pytest
from support.fits import data_of, function_of

from hashbench.learning.methods.mdsh import Eigenfunctions, Settings, eigenfunctions, histogram, mean_distance

RANDOM = np.random.default_rng(0)
FEATURES = RANDOM.standard_normal((300, 5)) * [4, 3, 2, 1, 0.5] + 3


def settings(**changes: float) -> Settings:
    setting_values = {"bits": 12, "t": 0.5, "neighbours": 100, "bins": 50, "outliers": 0.025, "floor": 0.1}
    return Settings(features="pixels", **{**setting_values, **changes})


def fitted(chosen: Settings, features: np.ndarray = FEATURES) -> Eigenfunctions:
    return function_of(Eigenfunctions, "mdsh", chosen, data_of(features))


def test_functions_of_one_component_are_eigenfunctions_of_the_plane() -> None:
    x = np.linspace(0, 3, 8)
    y = np.linspace(0, 2, 7)
    in_x = RANDOM.random(8) + 0.1
    in_y = RANDOM.random(7) + 0.1
    plane = np.array([(a, b) for a in x for b in y])
    counts = np.array([a * b for a in in_x for b in in_y])
    affinity = np.exp(-((plane[:, None] - plane[None]) ** 2).sum(axis=2) / (2 * 0.4**2)) * counts[:, None] * counts
    transition = affinity / affinity.sum(axis=1, keepdims=True)
    for points, on_line, spread in ((x, in_x, lambda f: np.repeat(f, 7)), (y, in_y, lambda f: np.tile(f, 8))):
        values, functions = eigenfunctions(points, on_line, 0.4)
        assert (np.diff(values) <= 0).all() and values[0] < 1
        for value, function in zip(values[:4], functions, strict=False):
            np.testing.assert_allclose(transition @ spread(function), value * spread(function), atol=1e-10)


def test_sigma_is_a_multiple_of_the_distance_to_the_nearest_neighbours() -> None:
    distances = np.linalg.norm(FEATURES[:, None] - FEATURES[None], axis=2)
    nearest = np.sort(distances, axis=1)[:, 1:101]
    assert mean_distance(FEATURES, 100) == pytest.approx(nearest.mean())
    assert mean_distance(FEATURES[:3], 100) == pytest.approx(distances[:3, :3].sum() / 6)


def test_the_bits_are_the_largest_eigenvalues_over_all_components() -> None:
    function = fitted(settings())
    mean = FEATURES.mean(axis=0)
    _, vectors = np.linalg.eigh(np.cov(FEATURES.T))
    sigma = 0.5 * mean_distance(FEATURES, 100)
    every = []
    for axis in vectors.T:
        values, _ = eigenfunctions(*histogram((FEATURES - mean) @ axis, settings()), sigma)
        every.extend(values)
    np.testing.assert_allclose(function.weights, sorted(every, reverse=True)[:12])
    columns = (FEATURES[:20] - mean) @ function.axes
    for bit in range(12):
        inner = np.clip(columns[:, bit], function.points[bit, 0], function.points[bit, -1])
        expected = np.interp(inner, function.points[bit], function.values[bit])
        np.testing.assert_allclose(function.activations(FEATURES[:20])[:, bit], expected, atol=1e-12)
