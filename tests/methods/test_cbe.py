"""CBE: the transforms are a circulant matrix, and no step raises the objective that is written with it."""

import numpy as np
import pytest
from scipy.linalg import circulant
from scipy.optimize import minimize
from support.fits import data_of, function_of

from hashbench.learning.methods.cbe import Circulant, Settings, best_spectrum

RANDOM = np.random.default_rng(0)


def fitted(features: np.ndarray, **changes: float) -> Circulant:
    setting_values = {"bits": 5, "iterations": 4, "penalty": 1.5, "sample": 1000, **changes}
    return function_of(Circulant, "cbe", Settings(features="pixels", **setting_values), data_of(features, seed=3))  # type: ignore[arg-type]


def objective(r: np.ndarray, x: np.ndarray, codes: np.ndarray, penalty: float) -> float:
    matrix = circulant(r)
    return float(np.square(codes - x @ matrix.T).sum() + penalty * np.square(matrix @ matrix.T - np.eye(len(r))).sum())


def signs_of(function: Circulant, x: np.ndarray) -> np.ndarray:
    """B [n, d], 0 beyond the bits."""
    codes = np.zeros(x.shape)
    codes[:, :5] = np.where(x @ circulant(function.r).T >= 0, 1, -1)[:, :5]
    return codes


@pytest.mark.parametrize("d", [7, 8])
def test_activations_are_those_of_the_circulant_matrix(d: int) -> None:
    features = RANDOM.standard_normal((30, d)) + 2
    for iterations in (0, 3):
        function = fitted(features, iterations=iterations)
        x = (features - features.mean(axis=0)) * function.signs
        np.testing.assert_allclose(function.activations(features), (x @ circulant(function.r).T)[:, :5], atol=1e-12)
    assert set(function.signs) <= {-1, 1}


@pytest.mark.parametrize("d", [7, 8])
def test_iterations_never_raise_the_objective(d: int) -> None:
    features = RANDOM.standard_normal((40, d)) * np.linspace(3, 0.1, d) + 2
    values = []
    for iterations in range(8):
        function = fitted(features, iterations=iterations)
        x = (features - features.mean(axis=0)) * function.signs
        values.append(objective(function.r, x, signs_of(function, x), 1.5))
    assert (np.diff(values) <= 1e-9).all() and values[-1] < 0.9 * values[0]


@pytest.mark.parametrize("d", [7, 8])
@pytest.mark.parametrize("penalty", [0.01, 1.5, 1000])
def test_a_spectrum_is_a_minimum_for_its_codes(d: int, penalty: float) -> None:
    x = RANDOM.standard_normal((40, d))
    codes = np.where(RANDOM.standard_normal((40, d)) > 0, 1.0, -1.0)
    actual = np.fft.irfft(best_spectrum(np.fft.rfft(x), codes, d, penalty), d)
    best = objective(actual, x, codes, penalty)
    for _ in range(8):  # from other places nothing lower is found
        other = minimize(objective, RANDOM.standard_normal(d), args=(x, codes, penalty))
        assert other.fun >= best - 1e-6 * abs(best)
    assert minimize(objective, actual, args=(x, codes, penalty)).fun == pytest.approx(best, rel=1e-6)
