"""Spectral hashing: its functions are the smoothest ones on the box around the data."""

import math

import numpy as np
from support.fits import data_of, function_of

from hashbench.learning.methods import ShallowSettings
from hashbench.learning.methods.spectral_hashing import BoxEigenfunctions

RANDOM = np.random.default_rng(0)


def fitted(features: np.ndarray, bits: int) -> BoxEigenfunctions:
    return function_of(
        BoxEigenfunctions, "spectral_hashing", ShallowSettings(bits=bits, features="pixels"), data_of(features)
    )


def test_agrees_with_a_slow_transcription_of_the_authors_code() -> None:
    features = RANDOM.standard_normal((60, 4)) * [4, 3, 2, 1] + 5
    bits = 12
    function = fitted(features, 12)
    _, vectors = np.linalg.eigh(np.cov(features.T))
    projected = features @ vectors[:, ::-1]
    low = projected.min(axis=0)
    high = projected.max(axis=0)
    sides = high - low
    modes = [(d, k) for d in range(4) for k in range(1, math.ceil((bits + 1) * sides[d] / max(sides)))]
    modes = sorted(modes, key=lambda mode: (mode[1] * math.pi / sides[mode[0]]) ** 2)[:bits]
    for bit, (d, k) in enumerate(modes):
        omega = k * math.pi / sides[d]
        expected = [math.sin(omega * (x - low[d]) + math.pi / 2) for x in projected[:, d]]
        actual = function.activations(features)[:, bit]
        if actual @ np.array(expected) < 0:  # the sign of a principal axis is free, and an odd k turns with it
            actual = -actual
        np.testing.assert_allclose(actual, expected, atol=1e-9)
