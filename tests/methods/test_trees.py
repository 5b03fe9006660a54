"""Boosted trees: the same as scikit-learn's AdaBoost, and evaluated as they were fitted."""

import numpy as np
import pytest

from hashbench.learning.methods._trees import BINS, TreeSettings, binned, boosted, stacked
from hashbench.learning.steps import apply

ALL = 10**6


def settings(n_trees: int, depth: int, n_tried: int, trim: float) -> TreeSettings:
    return TreeSettings(bits=1, features="x", n_trees=n_trees, depth=depth, n_tried=n_tried, trim=trim)


def examples(n: int = 300, width: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    features = random.standard_normal((n, width))
    noisy = features[:, 0] * features[:, 1] + features[:, 2] + 0.5 * random.standard_normal(n)
    return features, np.where(noisy > 0, 1.0, -1.0)


def few_values(features: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The examples with fewer values of a feature than bins, so that the library has the same candidate splits."""
    return np.clip(np.round(features * 10), -31, 31), signs


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_same_as_adaboost_of_scikit_learn(depth: int) -> None:
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    features, signs = few_values(*examples(n=250))
    library = AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=depth, random_state=0), n_estimators=12, random_state=0
    )
    library.fit(features, signs)
    ours = boosted(binned(features), signs, settings(12, depth, ALL, 0), np.random.default_rng(0))
    # its decision function is twice ours, divided by the sum of the weights of the trees
    expected = library.decision_function(features) / 2
    weight = np.abs(ours.values[:, 0]).sum()
    np.testing.assert_allclose(ours.scores / weight, expected, atol=1e-9)


def test_a_tree_is_that_of_scikit_learn_where_examples_have_weights() -> None:
    from sklearn.tree import DecisionTreeClassifier

    features, signs = few_values(*examples(n=200, seed=1))
    weights = np.random.default_rng(1).uniform(0.1, 2, len(signs))
    library = DecisionTreeClassifier(max_depth=3, random_state=0).fit(features, signs, sample_weight=weights)
    ours = boosted(binned(features), signs, settings(1, 3, ALL, 0), np.random.default_rng(0), weights)
    np.testing.assert_array_equal(np.sign(ours.scores), library.predict(features))


def test_activations_are_exactly_the_scores_of_the_fit() -> None:
    features, signs = examples(n=999, width=9)  # more values than bins
    random = np.random.default_rng(0)
    bits = [boosted(binned(features), sign * signs, settings(20, 4, 4, 0.1), random) for sign in (1, -1)]
    function = stacked(bits)
    activations = function.activations(features)
    np.testing.assert_array_equal(activations, np.stack([bit.scores for bit in bits], axis=1))
    np.testing.assert_array_equal(function.activations(features[5:6]), activations[5:6])
    assert function.n_features == 9
    np.testing.assert_array_equal(activations, apply(function.steps(), features))


@pytest.mark.parametrize("n", [3, 50, BINS, BINS + 1, 5000])
def test_bins(n: int) -> None:
    random = np.random.default_rng(n)
    features = np.stack([random.permutation(n) * 0.1, np.full(n, 3.0), random.integers(0, 2, n)], axis=1)
    bins = binned(features)
    for f in range(3):
        np.testing.assert_array_equal(bins.bins[f], (features[:, f, None] > bins.thresholds[f]).sum(axis=1))
    counts = np.bincount(bins.bins[0], minlength=BINS)
    assert (counts > 0).sum() == min(n, BINS)
    assert counts.max() <= -(-n // BINS) + 1
    assert (bins.bins[1] == 0).all()


def test_equal_examples_of_both_signs_and_constant_signs_give_finite_values() -> None:
    features = np.ones((10, 2))
    mixed = boosted(binned(features), np.repeat([1.0, -1.0], 5), settings(3, 2, ALL, 0.1), np.random.default_rng(0))
    np.testing.assert_array_equal(mixed.scores, 0)
    constant = boosted(binned(features), np.ones(10), settings(3, 2, ALL, 0.1), np.random.default_rng(0))
    assert np.isfinite(constant.scores).all()
    assert (constant.scores > 0).all()
