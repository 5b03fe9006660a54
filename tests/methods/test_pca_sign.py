"""PCA-sign: its activations are the principal components."""

import numpy as np
from sklearn.decomposition import PCA
from support.fits import data_of
from support.one_line import one_line

from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import METHODS, ShallowSettings

METHOD = METHODS.get("pca_sign")
FEATURES = np.random.default_rng(0).standard_normal((40, 6)) * [5, 4, 3, 2, 1, 0] + 7


def data(features: np.ndarray) -> TrainingData:
    return data_of(features.astype(np.float64))


def test_activations_are_those_of_another_implementation() -> None:
    activations = METHOD.fit(ShallowSettings(bits=4, features="pixels"), data(FEATURES)).encode(FEATURES)
    other = PCA(4, svd_solver="full").fit_transform(FEATURES)
    signs = np.sign((activations * other).sum(axis=0))  # the sign of an axis is free
    np.testing.assert_allclose(activations * signs, other, rtol=1e-4, atol=1e-4)


def test_a_feature_that_is_constant_gives_no_bit() -> None:
    METHOD.fit(ShallowSettings(bits=5, features="pixels"), data(FEATURES))
    with one_line(r"6 bits from 5 principal components along which .* vary: at most 5 bits"):
        METHOD.fit(ShallowSettings(bits=6, features="pixels"), data(FEATURES))
