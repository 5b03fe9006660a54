"""The N-pair objective against loops over anchors and positives."""

import math

import pytest
import torch
from torch import Tensor

from hashbench.learning.losses import metric_learning


def batch(n: int = 5, d: int = 4, seed: int = 0) -> Tensor:
    return torch.randn(2 * n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def slow_loss(embeddings: Tensor, l2: float) -> float:
    rows = embeddings.tolist()
    n = len(rows) // 2
    anchors = rows[:n]
    positives = rows[n:]
    terms = []
    for i, a in enumerate(anchors):
        scores = [math.exp(sum(x * y for x, y in zip(a, p, strict=True))) for p in positives]
        terms.append(-math.log(scores[i] / sum(scores)))
    mean_anchor = sum(x * x for a in anchors for x in a) / n
    mean_positive = sum(x * x for p in positives for x in p) / n
    return sum(terms) / n + 0.25 * l2 * (mean_anchor + mean_positive)


@pytest.mark.parametrize("l2", [0.0, 0.003, 2.0])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_equals_the_loop(n: int, l2: float) -> None:
    embeddings = batch(n, seed=n)
    assert metric_learning.npairs(embeddings, l2=l2).item() == pytest.approx(
        slow_loss(embeddings, l2), rel=1e-12, abs=1e-15
    )
