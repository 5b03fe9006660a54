"""Cross-entropy with label smoothing, against its formula written out."""

import numpy as np
import pytest
import torch
from support.one_line import one_line

from hashbench.learning.losses.cross_entropy import CrossEntropy


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_it_is_the_formula(smoothing: float) -> None:
    labels = np.array([2, 0, 1, 2, 2, 1])
    rows = torch.tensor([5, 0, 3])
    activations = np.random.default_rng(0).normal(size=(3, 4))
    expected = 0.0
    for row, logits in zip(rows.tolist(), activations, strict=True):
        p = np.exp(logits) / np.exp(logits).sum()
        q = np.full(4, smoothing / 4)
        q[labels[row]] += 1 - smoothing
        expected -= (q * np.log(p)).sum() / 3
    objective = CrossEntropy(torch.from_numpy(labels), 4, smoothing)
    actual = objective(torch.from_numpy(activations), rows, torch.Generator())
    assert float(actual) == pytest.approx(expected, rel=1e-12)
    assert objective.state_dict() == {}


@pytest.mark.parametrize("labels", [[0, 1, -1], [0, 1, 3], [[0, 1], [1, 0]]])
def test_examples_without_one_class_are_one_line(labels: list[object]) -> None:
    with one_line(r"^a classifier needs one class of 0 to 2 for each training example$"):
        CrossEntropy(torch.tensor(labels), 3, 0.1)
