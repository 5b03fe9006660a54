"""The semi-hard triplet objective against a loop over triplets, and its rule on distances made by hand."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hashbench.learning.losses import metric_learning

Rows = list[list[float]]


def slow_semi_hard(distance: Rows, labels: list[int], margin: float) -> float:
    """Facenet's rule, pair by pair: the nearest negative farther than the positive, or else the farthest."""
    costs = []
    for a, label in enumerate(labels):
        positives = [p for p, other in enumerate(labels) if p != a and other == label >= 0]
        negatives = sorted(distance[a][n] for n, other in enumerate(labels) if n != a and not other == label >= 0)
        for p in positives if negatives else []:
            farther = [d for d in negatives if d > distance[a][p]]
            costs.append(max(0.0, distance[a][p] - (farther[0] if farther else negatives[-1]) + margin))
    return sum(costs) / max(len(costs), 1)


def slow_loss(embeddings: Tensor, labels: Tensor, margin: float) -> float:
    unit = [[x / math.sqrt(sum(y * y for y in row)) for x in row] for row in embeddings.tolist()]
    distance = [[sum((x - y) ** 2 for x, y in zip(f, g, strict=True)) for g in unit] for f in unit]
    return slow_semi_hard(distance, labels.tolist(), margin)


def batch(n_classes: int = 4, per_class: int = 3, d: int = 5, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    embeddings = torch.randn(n_classes * per_class, d, generator=generator, dtype=torch.float64)
    return embeddings, torch.arange(n_classes).repeat(per_class) * 10


# One anchor, its positive in column 1, negatives in columns 2 to 4; what is chosen, and by which rule.


@st.composite
def tied(draw: st.DrawFn) -> tuple[Rows, list[int], float]:
    m = draw(st.integers(1, 7))
    few = st.sampled_from([0.0, 0.5, 1.0, 1.5, 4.0])
    distance = draw(st.lists(st.lists(few, min_size=m, max_size=m), min_size=m, max_size=m))
    labels = draw(st.lists(st.integers(-1, 2), min_size=m, max_size=m))
    return distance, labels, draw(st.sampled_from([0.0, 0.25, 1.0, 8.0]))


@given(tied())
def test_equals_the_loop_whatever_the_ties(case: tuple[Rows, list[int], float]) -> None:
    distance, labels, margin = case
    leaf = torch.tensor(distance, dtype=torch.float64, requires_grad=True)
    value = metric_learning.semi_hard(leaf, torch.tensor(labels), margin=margin)
    assert value.item() == pytest.approx(slow_semi_hard(distance, labels, margin), abs=1e-12)
    value.backward()
    assert leaf.grad is not None
    assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("margin", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("seed", range(3))
def test_equals_the_loop_on_unit_vectors(margin: float, seed: int) -> None:
    embeddings, labels = batch(seed=seed)
    expected = slow_loss(embeddings, labels, margin)
    assert metric_learning.triplet(embeddings, labels, margin=margin).item() == pytest.approx(expected, rel=1e-12)
