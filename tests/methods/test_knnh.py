"""KNNH: its objective transcribed, its gradient, its start and its descent."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from support.fits import data_of

from hashbench.learning.contract import Floats
from hashbench.learning.methods import METHODS, knnh

RANDOM = np.random.default_rng(6)
LABELS = np.arange(45) % 3
FEATURES = RANDOM.standard_normal((3, 5))[LABELS] + RANDOM.standard_normal((45, 5))
SETTINGS = knnh.Settings(
    features="pixels", bits=4, n_prototypes=2, theta_scale=0.3, alpha=1e-2, ridge=1e-6, iterations=50
)
CLASSES = np.repeat(np.arange(3), 2)
SAME = LABELS[:, None] == CLASSES


def plain(w: Floats, z: Floats, theta: float, alpha: float, inputs: Floats = FEATURES) -> float:
    """The objective, one example and one prototype at a time."""
    h = np.tanh(inputs @ w)
    g = np.tanh(z @ w)
    weight = np.array([[np.exp(theta**2 * (h[i] @ g[j])) for j in range(6)] for i in range(45)])
    total = 0.0
    for i in range(45):
        total -= np.log(sum(weight[i, j] for j in range(6) if SAME[i, j]) / weight[i].sum())
    for j in range(6):
        total -= alpha * np.log(sum(weight[i, j] for i in range(45) if SAME[i, j]) / weight[:, j].sum())
    return float(total)


def test_the_objective_is_the_papers() -> None:
    w = RANDOM.standard_normal((5, 4))
    z = RANDOM.standard_normal((6, 5))
    actual, _, _ = knnh.objective(FEATURES, w, z, SAME, 0.8, 0.3)
    assert actual == pytest.approx(plain(w, z, 0.8, 0.3))
    large, *gradients = knnh.objective(FEATURES, 100 * w, z, SAME, 30.0, 0.3)
    assert np.isfinite(large) and all(np.isfinite(part).all() for part in gradients)


def test_its_gradient_is_that_of_differences() -> None:
    w = RANDOM.standard_normal((5, 4))
    z = RANDOM.standard_normal((6, 5))
    _, by_w, by_z = knnh.objective(FEATURES, w, z, SAME, 0.8, 0.3)
    for values, gradient in ((w, by_w), (z, by_z)):
        for place in np.ndindex(values.shape):
            kept = values[place]
            step = 1e-6
            values[place] = kept + step
            up = plain(w, z, 0.8, 0.3)
            values[place] = kept - step
            down = plain(w, z, 0.8, 0.3)
            values[place] = kept
            assert gradient[place] == pytest.approx((up - down) / (2 * step), abs=1e-5)


def test_prototypes_are_centres_of_their_class_or_fewer() -> None:
    labels = np.array([0] * 10 + [1] * 4 + [2] * 2)
    inputs = RANDOM.standard_normal((16, 3))
    inputs[11:14] = inputs[10]
    centres, classes = knnh.first_prototypes(inputs, np.eye(3)[labels], 3, 0)
    assert classes == [0, 0, 0, 1, 2, 2]
    np.testing.assert_allclose(centres[3], inputs[10])
    np.testing.assert_allclose(np.sort(centres[4:, 0]), np.sort(inputs[14:, 0]))


def test_theta_and_the_weight_of_the_prototypes_are_the_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    centred = FEATURES - FEATURES.mean(axis=0)
    inputs = centred / np.linalg.norm(centred, axis=1).mean()
    compared = list[bool]()

    def stopped(value: Callable[[Floats], tuple[float, Floats]], start: Floats, **_: object) -> OptimizeResult:
        w = start[:20].reshape(5, 4)
        z = start[20:].reshape(6, 5)
        bits = inputs @ w > 0
        theta = 1 / (0.3 * np.mean([(one != other).sum() for one in bits for other in bits]))
        assert value(start)[0] == pytest.approx(plain(w, z, theta, 5.0 * 45 / 6, inputs))
        compared.append(True)
        return OptimizeResult(x=start)

    monkeypatch.setattr("scipy.optimize.minimize", stopped)
    chosen = SETTINGS.model_copy(update={"alpha": 5.0})
    METHODS.get("knnh").fit(chosen, data_of(FEATURES, LABELS))
    assert compared
