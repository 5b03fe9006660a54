"""normalise = "unit_norm": shallow methods hash items minus their training mean, of norm 1, in and outside training."""

import numpy as np
from support.fits import data_of

from hashbench.methods import METHODS, ShallowSettings

METHOD = METHODS.get("pca_sign")
GENERATOR = np.random.default_rng(0)
TRAIN = GENERATOR.standard_normal((40, 6)) * [5, 4, 3, 2, 1, 1] + 7
OTHERS = GENERATOR.standard_normal((25, 6)) * 3 + 5
NORMALISED = ShallowSettings(bits=4, features="pixels", normalise="unit_norm")


def by_hand(features: np.ndarray) -> np.ndarray:
    centred = features - TRAIN.mean(axis=0)
    return np.stack([row / np.sqrt((row**2).sum()) for row in centred])


def test_features_are_centred_by_the_training_mean_and_divided_by_their_norm() -> None:
    actual = METHOD.fit(NORMALISED, data_of(TRAIN)).encode(OTHERS)
    plain = METHOD.fit(ShallowSettings(bits=4, features="pixels"), data_of(by_hand(TRAIN))).encode(by_hand(OTHERS))
    np.testing.assert_allclose(actual, plain, rtol=1e-5, atol=1e-6)
    raw = METHOD.fit(ShallowSettings(bits=4, features="pixels"), data_of(TRAIN)).encode(OTHERS)
    assert not np.array_equal(actual > 0, raw > 0)
