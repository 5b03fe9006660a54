"""SDH, FSDH and HC-SDH: their steps against the papers' formulas, the objectives, and what they refuse."""

import numpy as np
import pytest
from support.fits import data_of, function_of
from support.one_line import one_line

from hashbench.learning.contract import Floats
from hashbench.learning.methods import METHODS, hc_sdh, sdh
from hashbench.learning.methods._discrete import AlternatingSettings
from hashbench.learning.methods._shallow import KernelLinear, ridge_solution

RANDOM = np.random.default_rng(7)
LABELS = np.arange(60) % 4
FEATURES = RANDOM.standard_normal((4, 5))[LABELS] + 0.7 * RANDOM.standard_normal((60, 5))
MEMBERS = np.eye(4)[LABELS]
REGRESSION = {"features": "pixels", "bits": 6, "n_anchors": 20, "sigma": 0.0, "offset": True, "ridge": 0.1}
ALTERNATING = {**REGRESSION, "iterations": 5, "tolerance": 0.0, "label_ridge": 1.0, "pull": 0.3}
SDH = sdh.Settings(**ALTERNATING, sweeps=10)
FSDH = AlternatingSettings(**ALTERNATING)
HC_SDH = hc_sdh.Settings(**{**REGRESSION, "bits": 8}, random_signs=False)


def fitted(method: str, settings: object, labels: np.ndarray = LABELS) -> KernelLinear:
    return function_of(KernelLinear, method, settings, data_of(FEATURES, labels))


def drawn_codes(bits: int = 6) -> Floats:
    return np.random.default_rng(1).choice([-1.0, 1.0], (60, bits))


def test_the_ridge_solution_solves_the_normal_equations_and_is_the_smallest_without_a_ridge() -> None:
    inputs = np.random.default_rng(2).standard_normal((60, 21))
    actual = ridge_solution(inputs, 0.1)(drawn_codes())
    np.testing.assert_allclose(inputs.T @ (inputs @ actual - drawn_codes()) + 0.1 * actual, 0, atol=1e-8)
    twice = np.hstack([inputs[:, :3], inputs[:, :3]])
    smallest = np.linalg.lstsq(twice, drawn_codes(), rcond=None)[0]
    np.testing.assert_allclose(ridge_solution(twice, 0.0)(drawn_codes()), smallest, atol=1e-8)


@pytest.mark.parametrize("method", ["sdh", "fsdh"])
def test_fit_is_the_alternation_transcribed(method: str) -> None:
    """From the random numbers on: anchors, then codes."""
    random = np.random.default_rng(0)
    anchors = FEATURES[random.choice(60, 20, replace=False)]
    squared = ((FEATURES[:, None] - anchors) ** 2).sum(axis=2)
    inputs = np.column_stack([np.exp(-squared / (2 * squared.mean())), np.ones(60)])
    codes = random.choice([-1.0, 1.0], (60, 6))
    for _ in range(5):
        projection = np.linalg.solve(inputs.T @ inputs + 0.1 * np.eye(21), inputs.T @ codes)
        if method == "fsdh":
            weights = np.linalg.solve(MEMBERS.T @ MEMBERS + np.eye(4), MEMBERS.T @ codes)
            codes = np.where(MEMBERS @ weights + 0.3 * inputs @ projection > 0, 1.0, -1.0)
            continue
        weights = np.linalg.solve(codes.T @ codes + np.eye(6), codes.T @ MEMBERS)
        wanted = MEMBERS @ weights.T + 0.3 * inputs @ projection
        for _ in range(10):
            for k in range(6):
                rest = [b for b in range(6) if b != k]
                codes[:, k] = np.where(wanted[:, k] - codes[:, rest] @ weights[rest] @ weights[k] > 0, 1.0, -1.0)
    expected = inputs @ np.linalg.solve(inputs.T @ inputs + 0.1 * np.eye(21), inputs.T @ codes)
    actual = fitted(method, {"sdh": SDH, "fsdh": FSDH}[method]).activations(FEATURES)
    np.testing.assert_allclose(actual, expected, atol=1e-7)


def test_sigma_is_that_of_the_kernel() -> None:
    function = fitted("sdh", SDH.model_copy(update={"sigma": 0.4}))
    assert float(function.bandwidth) == pytest.approx(0.16)


def test_several_labels_are_a_row_of_ones() -> None:
    multi_hot = np.eye(4, dtype=np.uint8)[LABELS]
    multi_hot[:, 0] = 1
    codes = [
        fitted(method, chosen, multi_hot).activations(FEATURES) for method, chosen in (("sdh", SDH), ("fsdh", FSDH))
    ]
    assert all(np.isfinite(of_method).all() for of_method in codes)
    one_hot = fitted("sdh", SDH, np.eye(4, dtype=np.uint8)[LABELS])
    np.testing.assert_array_equal(one_hot.projection, fitted("sdh", SDH).projection)
    with one_line("hc_sdh needs one class for each training example; these have several"):
        fitted("hc_sdh", HC_SDH, multi_hot)


def test_hc_sdh_regresses_to_orthogonal_rows() -> None:
    rows = hc_sdh.class_rows(4, 8)
    np.testing.assert_array_equal(rows @ rows.T, 8 * np.eye(4))
    assert (rows[0] == 1).all() and (rows[:, 0] == 1).all()  # the first class, and the bit that all classes share
    function = fitted("hc_sdh", HC_SDH)
    inputs = np.column_stack(
        [np.exp(-((FEATURES[:, None] - function.anchors) ** 2).sum(axis=2) / (2 * function.bandwidth)), np.ones(60)]
    )
    expected = inputs @ np.linalg.solve(inputs.T @ inputs + 0.1 * np.eye(21), inputs.T @ rows[LABELS])
    np.testing.assert_allclose(function.activations(FEATURES), expected, atol=1e-7)


def test_equal_anchors_are_no_fault_without_a_ridge() -> None:
    twice = data_of(np.repeat(FEATURES, 2, axis=0), np.repeat(LABELS, 2))
    chosen = HC_SDH.model_copy(update={"ridge": 0.0, "n_anchors": 110})
    hasher = METHODS.get("hc_sdh").fit(chosen, twice)
    assert np.abs(hasher.encode(FEATURES)).max() < 10  # type: ignore[attr-defined]
