"""LFH: its steps against the paper's objective, its out-of-sample regression; memory and refusals of COSDISH, too."""

import tracemalloc

import numpy as np
import pytest
from support.fits import data_of

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods import METHODS, cosdish, lfh

RANDOM = np.random.default_rng(5)
LABELS = np.arange(40) % 4
FEATURES = RANDOM.standard_normal((4, 6))[LABELS] + RANDOM.standard_normal((40, 6))
SETTINGS = lfh.Settings(features="pixels", bits=5, iterations=20, beta=30.0, ridge=1.0, regressed="factors")

BOTH = {
    "lfh": SETTINGS.model_copy(update={"iterations": 2}),
    "cosdish": cosdish.Settings(features="pixels", bits=5, samples=1, alternations=1, ridge=1.0),
}


def data(labels: np.ndarray = LABELS, features: Floats = FEATURES) -> TrainingData:
    return data_of(features, labels)


@pytest.mark.parametrize("regressed", ["factors", "codes"])
def test_fit_is_the_iteration_transcribed(regressed: str) -> None:
    bits = 5
    beta = 30.0 / 5  # the variance of a factor of so many bits
    inputs = (FEATURES - FEATURES.mean(axis=0)) / FEATURES.std(axis=0)
    factors = lfh.first_factors(inputs, bits)
    random = np.random.default_rng(0)
    for _ in range(3):
        sample = random.choice(40, bits, replace=False)
        before = factors.copy()
        for i in set(range(40)) - set(sample.tolist()):
            gradient = -before[i] / beta
            bound = np.eye(bits) / beta
            for j in sample:
                share = 1 / (1 + np.exp(-before[i] @ before[j] / 2))
                gradient = gradient + (float(LABELS[i] == LABELS[j]) - share) * before[j]
                bound = bound + np.outer(before[j], before[j]) / 8
            factors[i] = before[i] + np.linalg.inv(bound) @ gradient
    ridge = 2.0 * 40 / 6
    targets = np.sign(factors) if regressed == "codes" else factors
    expected = inputs @ np.linalg.inv(inputs.T @ inputs + ridge * np.eye(6)) @ inputs.T @ targets
    settings = SETTINGS.model_copy(update={"iterations": 3, "ridge": 2.0, "regressed": regressed})
    actual = METHODS.get("lfh").fit(settings, data()).encode(FEATURES)  # type: ignore[attr-defined]
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-6)


def test_more_bits_than_features_start_from_repeated_features() -> None:
    np.testing.assert_array_equal(lfh.first_factors(FEATURES, 8), FEATURES[:, [0, 1, 2, 3, 4, 5, 0, 1]])
    components = lfh.first_factors(FEATURES - FEATURES.mean(axis=0), 3)
    np.testing.assert_allclose(components.T @ components, np.diag(np.diag(components.T @ components)), atol=1e-9)


@pytest.mark.parametrize("method", ["lfh", "cosdish"])
def test_no_matrix_of_all_pairs_is_in_memory(method: str) -> None:
    n = 20_000  # all pairs take 400 MB as single bytes
    features = np.random.default_rng(0).standard_normal((n, 8))
    tracemalloc.start()
    try:
        METHODS.get(method).fit(BOTH[method], data(np.arange(n) % 10, features))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 150e6
