"""OK-means: each step lowers the error of the cells, and a code is the nearest of all centres."""

from itertools import product

import numpy as np

from hashbench.learning.methods.ok_means import quantised

RANDOM = np.random.default_rng(0)
X = RANDOM.gamma(1.0, [3.0, 2.0, 1.0], (300, 3))
X -= X.mean(axis=0)
FIRST = np.linalg.qr(RANDOM.standard_normal((3, 3)))[0]


def error(iterations: int) -> float:
    """The mean squared distance of X to the nearest of the 2^3 centres, with the best scale of each bit."""
    mean, rotation = quantised(X, FIRST, iterations)
    scales = np.abs((X - mean) @ rotation).mean(axis=0)
    centres = np.stack([mean + rotation @ (scales * b) for b in product((-1, 1), repeat=3)])
    return float(np.square(X[:, None] - centres).sum(axis=2).min(axis=1).mean())


def test_iterations_never_raise_the_error_and_rotations_stay_so() -> None:
    errors = [error(iterations) for iterations in range(0, 40)]
    assert (np.diff(errors) <= 1e-12).all() and errors[-1] < 0.9 * errors[0]
    _, rotation = quantised(X, FIRST, 20)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(3), atol=1e-12)


def test_one_iteration_by_hand() -> None:
    turned = X @ FIRST
    centres = np.sign(turned) * np.abs(turned).mean(axis=0)
    left, _, right = np.linalg.svd(X.T @ centres)
    mean, rotation = quantised(X, FIRST, 1)
    np.testing.assert_allclose(rotation, left @ right, atol=1e-12)
    np.testing.assert_allclose(mean, (X - centres @ rotation.T).mean(axis=0), atol=1e-12)
