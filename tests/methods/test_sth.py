"""STHs: its graph, the eigenvectors, the median, the SVMs, and what it refuses."""

import numpy as np
import pytest
from support.fits import data_of

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods import sth

SETTINGS = sth.Settings(bits=5, features="pixels", n_neighbours=4, c=1.0, unit_norm=True, at_median="zero")


def examples(n_classes: int = 3, n: int = 60) -> TrainingData:
    """Classes in 6 dimensions, with positive features."""
    random = np.random.default_rng(5)
    labels = np.arange(n) % n_classes
    items = np.abs(2 * random.standard_normal((n_classes, 6))[labels] + random.standard_normal((n, 6)))
    return data_of(items.astype(np.float32), labels)


def relevant(data: TrainingData) -> sth.Bools:
    return np.asarray(data.labels[:, None] == data.labels)


def graph(data: TrainingData, n_neighbours: int = 4) -> Floats:
    return sth.neighbour_graph(data.items.astype(np.float64), relevant(data), n_neighbours)


def test_graph_agrees_with_its_definition() -> None:
    data = examples()
    items = data.items.astype(np.float64)
    expected = np.zeros((60, 60))
    for i in range(60):
        others = [j for j in range(60) if j != i and data.labels[j] == data.labels[i]]
        cosines = {j: items[i] @ items[j] / np.linalg.norm(items[i]) / np.linalg.norm(items[j]) for j in others}
        for j in sorted(others, key=lambda j: -cosines[j])[:4]:
            expected[i, j] = expected[j, i] = cosines[j]
    np.testing.assert_allclose(graph(data), expected)


def eigenmap(weights: Floats, bits: int, seed: int = 0) -> Floats:
    return sth.eigenmap(weights, bits, np.random.default_rng(seed))


@pytest.mark.parametrize("bits", [1, 2, 8, 59])
def test_vectors_solve_the_generalised_eigenvalue_problem(bits: int) -> None:
    from scipy.linalg import eigh

    weights = graph(examples())
    degree = np.diag(weights.sum(axis=1))
    lowest = eigh(degree - weights, degree, eigvals_only=True)[1 : bits + 1]
    vectors = eigenmap(weights, bits)
    np.testing.assert_allclose((degree - weights) @ vectors, degree @ vectors * lowest, atol=1e-9)
    # they and the constant vector are at right angles
    products = np.c_[np.ones(60) / np.sqrt(weights.sum()), vectors]
    np.testing.assert_allclose(products.T @ degree @ products, np.eye(bits + 1), atol=1e-9)


VECTORS = np.array([[0.0, 1.0], [1e-17, 2.0], [-1e-17, 3.0], [1.0, 4.0], [1e-16, 5.0], [-1.0, 6.0]])


def test_median_ignores_rounding() -> None:
    codes = sth.binarised(VECTORS, "zero", np.random.default_rng(0))
    np.testing.assert_array_equal(codes[:, 0], [False, False, False, True, False, False])
    np.testing.assert_array_equal(codes[:, 1], [False, False, False, True, True, True])


def test_bits_at_the_median_are_drawn_so_that_half_of_all_are_1() -> None:
    drawn = np.stack([sth.binarised(VECTORS, "drawn", np.random.default_rng(seed)) for seed in range(300)])
    assert (drawn.sum(axis=1) == 3).all()
    np.testing.assert_allclose(drawn.mean(axis=0)[:, 0], [0.5, 0.5, 0.5, 1, 0.5, 0], atol=0.1)
    np.testing.assert_array_equal(drawn.mean(axis=0)[:, 1], [0, 0, 0, 1, 1, 1])
    odd = sth.binarised(VECTORS[:5], "drawn", np.random.default_rng(0))  # the median itself is 0
    np.testing.assert_array_equal(odd.sum(axis=0), 2)


def test_svms_predict_the_codes_of_separable_classes() -> None:
    labels = np.repeat([0, 1, 2], 20)
    items = np.eye(3)[labels] + 0.01 * np.random.default_rng(0).random((60, 3))
    data = data_of(items.astype(np.float32), labels)
    two_bits = SETTINGS.model_copy(update={"bits": 2, "n_neighbours": 0, "c": 100.0})
    codes = sth.binarised(eigenmap(graph(data, 0), 2), "zero", np.random.default_rng(0))
    np.testing.assert_array_equal(sth.METHOD.fit(two_bits, data).encode(items) > 0, codes)
