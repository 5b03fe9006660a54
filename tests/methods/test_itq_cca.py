"""ITQ-CCA: its directions against scikit-learn's CCA and the eigenproblem, its rotation, and bits beyond the rank."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import eigh, orthogonal_procrustes
from support.fits import data_of, function_of

from hashbench.learning.contract import Floats
from hashbench.learning.methods import Linear
from hashbench.learning.methods._shallow import random_rotation
from hashbench.learning.methods.itq import rotation
from hashbench.learning.methods.itq_cca import Settings, canonical

RANDOM = np.random.default_rng(4)
LABELS = np.arange(200) % 5
FEATURES = RANDOM.standard_normal((5, 7))[LABELS] + RANDOM.standard_normal((200, 7)) + 3
SEVERAL = np.hstack([np.eye(5)[LABELS], (FEATURES[:, :1] > 3).astype(float)])


def fitted(labels: np.ndarray = LABELS, **changes: object) -> Linear:
    chosen = Settings.model_validate(
        {"features": "pixels", "bits": 4, "iterations": 20, "ridge": 1e-4, "more_bits": "spread", **changes}
    )
    return function_of(Linear, "itq_cca", chosen, data_of(FEATURES, labels))


def covariances(members: Floats) -> tuple[Floats, Floats, Floats]:
    both = np.cov(np.hstack([FEATURES, members]).T)
    return both[:7, :7], both[:7, 7:], both[7:, 7:]


def test_directions_solve_the_eigenproblem_and_have_the_size_of_their_correlation() -> None:
    c_xx, c_xy, c_yy = covariances(SEVERAL)
    c_xx = c_xx + 0.01 * np.eye(7)
    c_yy = c_yy + 0.01 * np.eye(6)
    squares, _ = eigh(c_xy @ np.linalg.solve(c_yy, c_xy.T), c_xx)
    scaled = canonical(FEATURES, SEVERAL, 0.01)
    np.testing.assert_allclose(scaled.T @ c_xx @ scaled, np.diag(squares[::-1][: scaled.shape[1]]), atol=1e-9)
    left = c_xy @ np.linalg.solve(c_yy, c_xy.T) @ scaled
    np.testing.assert_allclose(left, c_xx @ scaled * squares[::-1][: scaled.shape[1]], atol=1e-9)


@pytest.mark.parametrize("bits", [4, 12])
def test_the_rotation_has_orthonormal_rows_and_lowers_the_error(bits: int) -> None:
    projected = RANDOM.standard_normal((300, 4)) @ np.diag([3.0, 2, 1, 1])
    errors = []
    for n in range(1, 12):
        actual = rotation(projected, bits, n, 0)
        np.testing.assert_allclose(actual @ actual.T, np.eye(4), atol=1e-9)
        rotated = projected @ actual
        errors.append(np.square(np.where(rotated > 0, 1, -1) - rotated).sum())
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(errors))
    assert errors[-1] < errors[0]


def test_an_iteration_is_scipys_solution_for_the_signs_of_the_one_before() -> None:
    projected = RANDOM.standard_normal((300, 4)) @ np.diag([3.0, 2, 1, 1])
    expected = random_rotation(4, 0)
    for n in range(5):
        np.testing.assert_allclose(rotation(projected, 4, n, 0), expected, atol=1e-9)
        codes = np.where(projected @ expected > 0, 1.0, -1.0)
        expected, _ = orthogonal_procrustes(projected, codes)


def test_bits_beyond_the_rank_are_spread() -> None:
    projection = fitted(bits=16).projection
    assert np.linalg.matrix_rank(projection) == 4
    assert np.isfinite(projection).all() and (np.linalg.norm(projection, axis=0) > 1e-3).all()
