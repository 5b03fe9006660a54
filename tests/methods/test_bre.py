"""BRE: the exact step of one weight, the objective that never rises, the targets and pairs, and what it refuses."""

import numpy as np
import pytest
from support.fits import data_of

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods import bre


def examples(n_classes: int = 3, n: int = 45) -> TrainingData:
    """Overlapping classes in 5 dimensions."""
    random = np.random.default_rng(5)
    labels = np.arange(n) % n_classes
    items = 2 * random.standard_normal((n_classes, 5))[labels] + random.standard_normal((n, 5))
    return data_of(items.astype(np.float32), labels)


def an_embedding(seed: int = 0) -> bre.Embedding:
    data = examples()
    random = np.random.default_rng(seed)
    features = data.items.astype(np.float64)
    pairs = bre.sampled_pairs(np.where(data.labels[:, None] == data.labels, 0.0, 1.0), 0.3, random)
    anchors = random.integers(45, size=(4, 6))
    return bre.Embedding(features @ features.T, anchors, random.standard_normal((4, 6)), pairs)


def objective_of(weights: Floats, embedding: bre.Embedding) -> float:
    """The objective of the paper, written out pair by pair."""
    bits = np.array([embedding.kernel[:, a] @ w > 0 for a, w in zip(embedding.anchors.T, weights.T, strict=True)])
    pairs = zip(embedding.pairs.first, embedding.pairs.second, embedding.pairs.target, strict=True)
    return sum((target - np.mean(bits[:, i] != bits[:, j])) ** 2 for i, j, target in pairs) / 2


def test_objective_is_that_of_the_paper() -> None:
    embedding = an_embedding()
    assert embedding.objective == pytest.approx(objective_of(embedding.weights, embedding))


@pytest.mark.parametrize("bit, anchor", [(0, 0), (3, 2), (5, 3)])
def test_a_step_is_the_best_of_all_values_of_the_weight(bit: int, anchor: int) -> None:
    """Every value between two flips of an example is tried; the step must be as good as the best of them."""
    embedding = an_embedding()
    slope = embedding.kernel[:, embedding.anchors[anchor, bit]]
    activations = embedding.activations[bit]
    flips = np.sort(embedding.weights[anchor, bit] - activations / slope)
    values = np.concatenate([[flips[0] - 1], (flips[1:] + flips[:-1]) / 2, [flips[-1] + 1]])
    tried = []
    for value in values:
        weights = embedding.weights.copy()
        weights[anchor, bit] = value
        tried.append(objective_of(weights, embedding))
    before = embedding.objective
    embedding.improve(bit, anchor)
    assert embedding.objective == pytest.approx(min(tried))
    assert embedding.objective < before
    assert objective_of(embedding.weights, embedding) == pytest.approx(embedding.objective)


def test_the_objective_never_rises() -> None:
    embedding = an_embedding()
    random = np.random.default_rng(7)
    objectives = [embedding.objective]
    for _ in range(200):
        embedding.improve(int(random.integers(6)), int(random.integers(4)))
        objectives.append(embedding.objective)
    assert (np.diff(objectives) <= 0).all()
    assert objectives[-1] < 0.8 * objectives[0]
    np.testing.assert_allclose(embedding.objective, objective_of(embedding.weights, embedding))


def test_pairs_are_the_share_of_each_example_without_itself() -> None:
    target = np.arange(400.0).reshape(20, 20)
    pairs = bre.sampled_pairs(target, 0.25, np.random.default_rng(0))
    assert (pairs.first != pairs.second).all()
    assert set(np.bincount(pairs.first)) <= {4, 5}
    np.testing.assert_array_equal(pairs.target, 20 * pairs.first + pairs.second)
    everything = bre.sampled_pairs(target, 1.0, np.random.default_rng(0))
    assert len(everything.first) == 20 * 19
