"""STHs: its graph, the eigenvectors, the median, the SVMs, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from hashbench.contract import Floats, TrainingData
from hashbench.foundation.errors import HashbenchError
from hashbench.methods import sth

SETTINGS = sth.Settings(bits=5, features="pixels", n_neighbours=4, c=1.0, unit_norm=True)


def examples(n_classes: int = 3, n: int = 60) -> TrainingData:
    """Classes in 6 dimensions, with positive features."""
    random = np.random.default_rng(5)
    labels = np.arange(n) % n_classes
    items = np.abs(2 * random.standard_normal((n_classes, 6))[labels] + random.standard_normal((n, 6)))
    return TrainingData(items.astype(np.float32), labels, 1.0, 0, Path())


def relevant(data: TrainingData) -> sth.Bools:
    return np.asarray(data.labels[:, None] == data.labels)


def graph(data: TrainingData, n_neighbours: int = 4) -> Floats:
    return sth.neighbour_graph(data.items.astype(np.float64), relevant(data), n_neighbours)


def test_graph_agrees_with_its_definition() -> None:
    data = examples()
    items, expected = data.items.astype(np.float64), np.zeros((60, 60))
    for i in range(60):
        others = [j for j in range(60) if j != i and data.labels[j] == data.labels[i]]
        cosines = {j: items[i] @ items[j] / np.linalg.norm(items[i]) / np.linalg.norm(items[j]) for j in others}
        for j in sorted(others, key=lambda j: -cosines[j])[:4]:
            expected[i, j] = expected[j, i] = cosines[j]
    np.testing.assert_allclose(graph(data), expected)


def test_no_number_of_neighbours_joins_whole_classes() -> None:
    data = examples()
    np.testing.assert_array_equal(graph(data, 0) > 0, relevant(data) & ~np.eye(60, dtype=bool))
    np.testing.assert_array_equal(graph(data, 500), graph(data, 0))


def test_vectors_solve_the_generalised_eigenvalue_problem() -> None:
    from scipy.linalg import eigh

    weights = graph(examples())
    degree = np.diag(weights.sum(axis=1))
    lowest = eigh(degree - weights, degree, eigvals_only=True)[1:9]
    vectors = sth.eigenmap(weights, 8)
    np.testing.assert_allclose((degree - weights) @ vectors, degree @ vectors * lowest, atol=1e-9)
    products = vectors.T @ degree @ vectors
    np.testing.assert_allclose(products, np.eye(8), atol=1e-9)


def test_first_vectors_are_constant_in_each_class() -> None:
    data = examples()
    vectors = sth.eigenmap(graph(data, 0), 3)
    for label in range(3):
        assert np.ptp(vectors[data.labels == label][:, :2], axis=0).max() < 1e-9
        assert label > 0 or np.ptp(vectors[:, 2]) > 1e-3


def test_an_example_without_a_neighbour_is_a_component_of_its_own() -> None:
    weights = graph(examples())
    weights[7], weights[:, 7] = 0, 0
    vectors = sth.eigenmap(weights, 59)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(np.square(vectors[7]).max(), 1, atol=0.5)


def test_median_ignores_rounding() -> None:
    vectors = np.array([[0.0, 1.0], [1e-17, 2.0], [-1e-17, 3.0], [1.0, 4.0], [1e-16, 5.0]])
    np.testing.assert_array_equal(sth.above_median(vectors)[:, 0], [False, False, False, True, False])
    np.testing.assert_array_equal(sth.above_median(vectors)[:, 1], [False, False, False, True, True])


def test_svms_predict_the_codes_of_separable_classes() -> None:
    labels = np.repeat([0, 1, 2], 20)
    items = np.eye(3)[labels] + 0.01 * np.random.default_rng(0).random((60, 3))
    data = TrainingData(items.astype(np.float32), labels, 1.0, 0, Path())
    two_bits = SETTINGS.model_copy(update={"bits": 2, "n_neighbours": 0, "c": 100.0})
    codes = sth.above_median(sth.eigenmap(graph(data, 0), 2))
    np.testing.assert_array_equal(sth.METHOD.fit(two_bits, data).encode(items) > 0, codes)


def test_refusals() -> None:
    with pytest.raises(HashbenchError, match="60 bits from 59 eigenvectors: at most 59 bits"):
        sth.METHOD.fit(SETTINGS.model_copy(update={"bits": 60}), examples())
    with pytest.raises(HashbenchError, match="is there one class only"):
        sth.METHOD.fit(SETTINGS, examples(n_classes=1))
