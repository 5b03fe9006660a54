"""SGH: the graph is that of the paper, bits lower its residual, and each is the best of its relaxed problem."""

import numpy as np
import pytest
from scipy.linalg import eigh
from support.fits import data_of, function_of

from hashbench.learning.methods._shallow import KernelLinear, Scaling
from hashbench.learning.methods.sgh import Settings, seen, sequential
from hashbench.learning.steps import squared_distances

RANDOM = np.random.default_rng(0)
FEATURES = Scaling(np.zeros(5)).apply(RANDOM.standard_normal((80, 5)))
DISTANCES = squared_distances(FEATURES, FEATURES)
K = np.exp(-DISTANCES[:, :12])
K -= K.mean(axis=0)


def graph() -> np.ndarray:
    """S, from P Q^T with the columns of the paper."""
    damped = np.exp(-np.square(FEATURES).sum(axis=1) / 2)[:, None]
    columns = [np.sqrt(np.e - 1 / np.e) * damped * FEATURES, np.sqrt(np.e + 1 / np.e) * damped]
    p, q = (np.hstack([*columns, one * np.ones((80, 1))]) for one in (1, -1))
    return p @ q.T


def fitted(**changes: object) -> KernelLinear:
    setting_values = {"bits": 6, "n_anchors": 12, "refinements": 1, **changes}
    chosen = Settings(features="pixels", **setting_values)  # type: ignore[arg-type]
    return function_of(KernelLinear, "sgh", chosen, data_of(FEATURES))


def test_a_bit_is_the_top_eigenvector_of_the_residual_of_the_others() -> None:
    function = fitted(refinements=0)
    inputs = np.exp(squared_distances(FEATURES, function.anchors) / (-2 * function.bandwidth))
    centred = inputs - inputs.mean(axis=0)
    np.testing.assert_allclose(function.mean, inputs.mean(axis=0))
    residual = 6 * graph()
    for w in function.projection.T:
        values, vectors = eigh(centred.T @ residual @ centred, centred.T @ centred + 1e-6 * np.eye(12))
        assert w @ centred.T @ residual @ centred @ w == pytest.approx(values[-1], rel=1e-6)
        b = np.sign(centred @ vectors[:, -1])
        assert abs(b @ np.sign(centred @ w)) == 80
        residual = residual - np.outer(b, b)


def test_bits_lower_the_residual_and_a_refinement_finds_each_again() -> None:
    wanted = 6 * graph()
    errors = []
    for bits in range(7):
        b = np.sign(K @ sequential(K, 6 * seen(K, FEATURES), 6, range(bits))[:, :bits])
        errors.append(np.square(wanted - b @ b.T).sum())
    assert errors[6] < 0.9 * errors[0]  # a single bit may raise it: signs are not the eigenvector
    once, again = (sequential(K, 6 * seen(K, FEATURES), 6, turns) for turns in (range(6), [*range(6), 2]))
    assert (once != again).any(axis=0).tolist() == [False, False, True, False, False, False]
    others = np.sign(K @ np.delete(again, 2, axis=1))
    left = K.T @ (wanted - others @ others.T) @ K
    assert again[:, 2] @ left @ again[:, 2] == pytest.approx(np.linalg.eigvalsh(left)[-1])
