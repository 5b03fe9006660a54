"""BP: both projections stay orthonormal, their agreement with the codes rises, and an item is one projection."""

import numpy as np
from support.fits import data_of, function_of

from hashbench.learning.methods.bilinear import Bilinear, Settings, factors, turned

RANDOM = np.random.default_rng(0)
FEATURES = RANDOM.gamma(1.0, 1.0, (60, 20))


def fitted(features: np.ndarray = FEATURES, **changes: int) -> Bilinear:
    values = {"bits": 6, "iterations": 4, "sample": 1000, **changes}
    return function_of(Bilinear, "bilinear", Settings(features="pixels", **values), data_of(features, seed=3))  # type: ignore[arg-type]


def test_activations_are_one_projection_that_is_a_kronecker_product() -> None:
    function = fitted()
    assert function.left.shape == (4, 2)
    assert function.right.shape == (5, 3)
    expected = (FEATURES - FEATURES.mean(axis=0)) @ np.kron(function.left, function.right)
    np.testing.assert_allclose(function.activations(FEATURES), expected, atol=1e-12)


def test_one_iteration_by_hand() -> None:
    x = RANDOM.standard_normal((30, 4, 5))
    left, right = (np.linalg.qr(RANDOM.standard_normal(shape))[0] for shape in ((4, 2), (5, 3)))
    codes = [np.sign(left.T @ matrix @ right) for matrix in x]
    u, _, v = np.linalg.svd(sum(matrix.T @ left @ b for matrix, b in zip(x, codes, strict=True)), full_matrices=False)
    new_right = u @ v
    u, _, v = np.linalg.svd(
        sum(matrix @ new_right @ b.T for matrix, b in zip(x, codes, strict=True)), full_matrices=False
    )
    for actual, expected in zip(turned(x, left, right), (u @ v, new_right), strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_sides_are_the_nearest_to_a_square() -> None:
    assert factors(12) == [(3, 4), (4, 3), (2, 6), (6, 2), (1, 12), (12, 1)]
    assert factors(64)[0] == (8, 8)
    assert fitted(bits=5, iterations=1).left.shape == (4, 1)
