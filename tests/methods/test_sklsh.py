"""SKLSH: the share of bits that differ is the function of the Gaussian kernel that the paper derives."""

import numpy as np
import pytest
from support.fits import data_of

from hashbench.learning.methods import METHODS
from hashbench.learning.methods.sklsh import Settings
from hashbench.scoring.codes import binarize

METHOD = METHODS.get("sklsh")
RANDOM = np.random.default_rng(0)
FEATURES = RANDOM.standard_normal((60, 5)) * 7 + 100


def settings(**changes: float) -> Settings:
    return Settings(features="pixels", **{"bits": 4096, "gamma": 0.7, "neighbours": 10, **changes})  # type: ignore[arg-type]


def bits_of(features: np.ndarray) -> np.ndarray:
    return binarize(METHOD.fit(settings(), data_of(features)).encode(features)).bits()  # type: ignore[attr-defined]


def test_bits_differ_as_the_kernel_says() -> None:
    bits = bits_of(FEATURES)
    distances = np.linalg.norm(FEATURES[:, None] - FEATURES, axis=2)
    unit = np.sort(distances, axis=1)[:, 10].mean()
    expected = np.zeros(distances.shape)
    for m in range(1, 200):  # the series of the paper's h_K
        expected += 8 / np.pi**2 * (1 - np.exp(-0.7 * (m * distances / unit) ** 2 / 2)) / (4 * m**2 - 1)
    actual = (bits[:, None] != bits).mean(axis=2)
    np.testing.assert_allclose(actual, expected, atol=0.04)
    assert abs((actual - expected).mean()) < 0.005
    assert actual.max() == pytest.approx(0.4, abs=0.1)
    assert actual.min() == 0
