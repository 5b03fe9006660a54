"""Classifier codes: items of one predicted class have one code, and the classifier is the optimum of its loss."""

import numpy as np
import pytest
from support.fits import data_of, function_of

from hashbench.learning.methods.classifier_codes import ClassCodes, Settings, hadamard_codes, logistic

RANDOM = np.random.default_rng(0)
LABELS = np.arange(150) % 5 * 3  # 0, 3, 6, 9, 12
FEATURES = RANDOM.standard_normal((150, 6)) * [1, 2, 3, 1, 2, 0] + RANDOM.standard_normal((15, 6))[LABELS]


def settings(**changes: float) -> Settings:
    return Settings(features="pixels", **{"bits": 8, "penalty": 0.01, "iterations": 1000, **changes})


def fitted(labels: np.ndarray = LABELS, **changes: float) -> ClassCodes:
    return function_of(ClassCodes, "classifier_codes", settings(**changes), data_of(FEATURES, labels))


@pytest.mark.parametrize("bits", range(4, 70))
def test_codewords_differ_and_their_distances_are_nearly_equal(bits: int) -> None:
    codes = hadamard_codes(10, bits)
    distances = (codes[:, None] != codes[None]).sum(axis=2)[~np.eye(10, dtype=bool)]
    assert distances.min() >= max(1, bits // 15 * 8)
    assert distances.max() - distances.min() <= 8


def test_the_classifier_is_the_minimum_of_the_penalised_loss() -> None:
    classes, labels = np.unique(LABELS, return_inverse=True)
    scale = np.where(FEATURES.std(axis=0) > 0, FEATURES.std(axis=0), 1)
    standard = (FEATURES - FEATURES.mean(axis=0)) / scale

    def loss(weight: np.ndarray, bias: np.ndarray) -> float:
        """The mean cross-entropy on the standardised features, with the penalty."""
        logits = standard @ weight + bias
        log_sums = np.log(np.exp(logits).sum(axis=1))
        return float((log_sums - logits[np.arange(150), labels]).mean() + 0.01 / 2 * np.square(weight).sum())

    actual, bias = logistic(FEATURES, labels, settings())
    weight = actual * scale[:, None]
    bias = bias + FEATURES.mean(axis=0) @ actual
    assert weight.shape == (6, len(classes))
    best = loss(weight, bias)
    for _ in range(20):
        assert loss(weight + 0.01 * RANDOM.standard_normal(weight.shape), bias) > best
        assert loss(weight, bias + 0.01 * RANDOM.standard_normal(bias.shape) * [0, 1, 1, 1, 1]) > best


def test_items_have_the_code_of_their_predicted_class() -> None:
    function = fitted()
    predicted = (FEATURES @ function.weight + function.bias).argmax(axis=1)
    np.testing.assert_array_equal(function.activations(FEATURES), hadamard_codes(5, 8)[predicted])
    assert (predicted == LABELS // 3).mean() > 0.8


def test_two_classes_and_examples_without_a_class() -> None:
    labels = np.where(FEATURES[:, 2] > 0, 7, 2)
    ones = fitted(labels, bits=1).activations(FEATURES)[:, 0] > 0
    assert (ones == (labels == 7)).mean() > 0.95
    assert fitted(np.where(LABELS == 6, -1, LABELS)).codewords.shape == (4, 8)
