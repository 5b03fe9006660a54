"""SPLH: its pairs, the correction of their labels, its projections by a plain transcription, and what it refuses."""

import numpy as np
import pytest
from support.fits import data_of

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods import splh

SETTINGS = splh.Settings(bits=5, features="pixels", eta=0.3, alpha=2.0, n_pairs=7)


def examples(n_classes: int = 3, n: int = 60) -> TrainingData:
    """Overlapping classes in 6 dimensions."""
    random = np.random.default_rng(5)
    labels = np.arange(n) % n_classes
    items = random.standard_normal((n_classes, 6))[labels] + random.standard_normal((n, 6))
    return data_of(items.astype(np.float32), labels)


def relevant(data: TrainingData) -> splh.Bools:
    return np.asarray(data.labels[:, None] == data.labels)


def centred(data: TrainingData) -> Floats:
    features = data.items.astype(np.float64)
    return features - features.mean(axis=0)


def matrix(pairs: splh.Pairs, n: int) -> Floats:
    dense = np.zeros((n, n))
    dense[pairs.rows, pairs.columns] = pairs.labels
    return dense


def test_pairs_are_as_many_as_asked_for_or_all() -> None:
    labels = np.repeat([0, 1, 2], [3, 20, 37])
    same = labels[:, None] == labels
    dense = matrix(splh.labelled_pairs(same, 7, np.random.default_rng(0)), 60)
    assert (dense.diagonal() == 0).all()
    assert (same[dense > 0]).all()
    assert not (same[dense < 0]).any()
    np.testing.assert_array_equal((dense > 0).sum(axis=1), np.where(labels == 0, 2, 7))
    np.testing.assert_array_equal((dense < 0).sum(axis=1), 7)


def test_projections_agree_with_algorithm_1_transcribed() -> None:
    data = examples()
    features = centred(data)
    pairs = splh.labelled_pairs(relevant(data), 7, np.random.default_rng(0))
    labels = matrix(pairs, 60)
    residual = features.copy()
    for direction in splh.fit_bits(SETTINGS, features, pairs):
        adjusted = features.T @ labels @ features + 0.3 * residual.T @ residual
        expected = np.linalg.eigh((adjusted + adjusted.T) / 2)[1][:, -1]
        assert abs(expected @ direction) == pytest.approx(1, abs=1e-9)
        projected = features @ expected
        projected /= np.sqrt(np.mean(projected**2))
        for i in range(60):
            for j in range(60):
                product = projected[i] * projected[j]
                if labels[i, j] * product < 0:
                    labels[i, j] -= 2.0 * product
        residual -= np.outer(residual @ expected, expected)
