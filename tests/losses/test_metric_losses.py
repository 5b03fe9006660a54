"""Triplets and N-pairs, of embeddings and gated by codes (Jeong and Song 2018, eq. 8 to 10), against loops."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hashbench.learning.losses import gated, metric_learning

Rows = list[list[float]]
N_CLASSES = 4
D = 7


def batch(n_rounds: int, seed: int = 0, k: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Embeddings, labels and buckets in rounds; a class has one code, and two classes share a bucket."""
    generator = torch.Generator().manual_seed(seed)
    of_classes = torch.stack([torch.randperm(D, generator=generator)[:k] for _ in range(N_CLASSES)])
    of_classes[1] = (of_classes[0, 0] + torch.arange(k)) % D
    embeddings = torch.randn(n_rounds * N_CLASSES, D, generator=generator, dtype=torch.float64)
    return embeddings, torch.arange(N_CLASSES).repeat(n_rounds) * 10, of_classes.repeat(n_rounds, 1)


def unit(embeddings: Tensor) -> Rows:
    return [[x / math.sqrt(sum(y * y for y in row)) for x in row] for row in embeddings.tolist()]


def gated_distance(f: list[float], g: list[float], b: list[int], c: list[int]) -> float:
    """Eq. 8: || (h_i or h_j) * (f_i - f_j) ||_1."""
    return sum(abs(((t in b) or (t in c)) * (f[t] - g[t])) for t in range(len(f)))


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


def slow_multi_class(similarity: Rows, embeddings: Tensor, l2: float) -> float:
    """The N-pair loss of the similarities of anchors and positives, and the mean squared norms of both times l2 / 4."""
    n = len(similarity)
    terms = [-math.log(math.exp(row[i]) / sum(map(math.exp, row))) for i, row in enumerate(similarity)]
    return sum(terms) / n + 0.25 * l2 * sum(x * x for row in embeddings.tolist() for x in row) / n


@st.composite
def tied(draw: st.DrawFn) -> tuple[Rows, list[int], float]:
    m = draw(st.integers(1, 7))
    few = st.sampled_from([0.0, 0.5, 1.0, 1.5, 4.0])
    distance = draw(st.lists(st.lists(few, min_size=m, max_size=m), min_size=m, max_size=m))
    labels = draw(st.lists(st.integers(-1, 2), min_size=m, max_size=m))
    return distance, labels, draw(st.sampled_from([0.0, 0.25, 1.0, 8.0]))


@given(tied())
def test_triplets_are_the_loop_whatever_the_ties(case: tuple[Rows, list[int], float]) -> None:
    distance, labels, margin = case
    leaf = torch.tensor(distance, dtype=torch.float64, requires_grad=True)
    value = metric_learning.semi_hard(leaf, torch.tensor(labels), margin=margin)
    assert value.item() == pytest.approx(slow_semi_hard(distance, labels, margin), abs=1e-12)
    value.backward()
    assert leaf.grad is not None
    assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("margin", [0.0, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("n_rounds, k, seed", [(2, 2, 0), (3, 1, 1), (3, 3, 2), (2, D, 3)])
def test_triplets_of_unit_vectors_and_gated_ones(n_rounds: int, k: int, seed: int, margin: float) -> None:
    embeddings, labels, buckets = batch(n_rounds, seed, k)
    rows = list(zip(unit(embeddings), buckets.tolist(), strict=True))
    squared = [[sum((x - y) ** 2 for x, y in zip(f, g, strict=True)) for g, _ in rows] for f, _ in rows]
    by_code = [[gated_distance(f, g, b, c) for g, c in rows] for f, b in rows]
    plain = metric_learning.triplet(embeddings, labels, margin=margin)
    of_codes = gated.triplet(embeddings, labels, buckets, margin=margin)
    assert plain.item() == pytest.approx(slow_semi_hard(squared, labels.tolist(), margin), rel=1e-12)
    assert of_codes.item() == pytest.approx(slow_semi_hard(by_code, labels.tolist(), margin), rel=1e-12)


@pytest.mark.parametrize("l2", [0.0, 0.003, 1.0])
@pytest.mark.parametrize("k, seed", [(1, 0), (2, 1), (3, 2), (D, 3)])
def test_npairs_of_products_and_gated_ones_in_both_forms(k: int, seed: int, l2: float) -> None:
    embeddings, _, buckets = batch(2, seed, k)
    rows = list(zip(embeddings.tolist(), buckets.tolist(), strict=True))
    anchors = rows[:N_CLASSES]
    positives = rows[N_CLASSES:]
    products = [[sum(x * y for x, y in zip(f, g, strict=True)) for g, _ in positives] for f, _ in anchors]
    paper = [[-gated_distance(f, g, b, c) for g, c in positives] for f, b in anchors]
    released = [[sum(f[t] * g[t] for t in set(b) | set(c)) for g, c in positives] for f, b in anchors]
    for actual, similarity in (
        (metric_learning.npairs(embeddings, l2=l2), products),
        (gated.npairs(embeddings, buckets, l2=l2), paper),
        (gated.npairs_as_released(embeddings, buckets, l2=l2), released),
    ):
        assert actual.item() == pytest.approx(slow_multi_class(similarity, embeddings, l2), rel=1e-12)
