"""IsoHash: a rotation with equal variances, found by exact projections that come nearer with each iteration."""

import numpy as np
from support.fits import data_of, function_of

from hashbench.learning.methods import Linear
from hashbench.learning.methods.isohash import Settings, isotropic

RANDOM = np.random.default_rng(0)
FEATURES = RANDOM.standard_normal((200, 8)) * [9, 6, 4, 3, 2, 1, 0.5, 0] + 3
VARIANCES = np.array([2.5, 1.0, 0.4, 0.1])
FIRST = np.linalg.qr(RANDOM.standard_normal((4, 4)))[0]


def activations(bits: int, **changes: float) -> np.ndarray:
    chosen = Settings(bits=bits, features="pixels", **{"iterations": 500, "tolerance": 1e-9, **changes})
    return function_of(Linear, "isohash", chosen, data_of(FEATURES)).activations(FEATURES)


def test_all_bits_have_the_variance_of_the_mean_of_the_components() -> None:
    top = np.linalg.eigvalsh(np.cov(FEATURES.T, bias=True))[::-1][:6]
    actual = np.cov(activations(6).T, bias=True)
    np.testing.assert_allclose(actual.diagonal(), top.mean(), rtol=1e-6)
    np.testing.assert_allclose(np.linalg.eigvalsh(actual)[::-1], top, rtol=1e-9)  # it is a rotation
    assert np.cov(activations(6, iterations=1).T).diagonal().std() > 0.01


def test_an_iteration_is_the_nearest_matrix_with_the_eigenvalues() -> None:
    lifted = FIRST.T @ np.diag(VARIANCES) @ FIRST
    np.fill_diagonal(lifted, 1)
    q = isotropic(VARIANCES, FIRST, 1, 0)
    best = np.square(q.T @ np.diag(VARIANCES) @ q - lifted).sum()
    for _ in range(300):
        other = np.linalg.qr(RANDOM.standard_normal((4, 4)))[0]
        near = np.linalg.qr(q + 0.05 * RANDOM.standard_normal((4, 4)))[0]
        for other_rotation in (other, near):
            assert np.square(other_rotation.T @ np.diag(VARIANCES) @ other_rotation - lifted).sum() >= best
