"""DCG_s against eq. 66 term by term; DCG_r against the metric."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from hashbench import score
from hashbench.learning.losses import tie_aware_ndcg
from hashbench.learning.losses.soft_histogram import relaxed_distance, soft_histogram


def graded_batch(m: int, bits: int, seed: int) -> tuple[Tensor, Tensor]:
    """Activations and labels, of which two examples share 0 to 5: levels, some of them absent."""
    generator = torch.Generator().manual_seed(seed)
    activations = torch.randn(m, bits, generator=generator, dtype=torch.float64)
    labels = (torch.rand(m, 5, generator=generator) < 0.35).long()
    return activations, labels


def discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def ideal(levels: list[int]) -> float:
    return sum((2**v - 1) * discount(t) for t, v in enumerate(sorted(levels, reverse=True), start=1))


@pytest.mark.parametrize("m, bits", [(8, 2), (40, 6), (90, 24)])
def test_exact_is_the_metric_at_binary_codes(m: int, bits: int) -> None:
    activations, labels = graded_batch(m, bits, seed=m)
    codes = torch.where(activations > 0, 1.0, -1.0)
    as_bits = (codes > 0).numpy().astype(np.uint8)
    label_sets = labels.numpy().astype(np.uint8)
    expected = score(as_bits, as_bits, label_sets, label_sets, metrics=["ndcg"], exclude_self=True)["ndcg"]
    assert tie_aware_ndcg.exact(codes, labels @ labels.T).item() == pytest.approx(1 - expected, abs=1e-12)


def equation_66(counts: Tensor, gains: list[float]) -> float:
    """DCG_s of one histogram [B, V] of items whose levels have these ``gains`` [V]."""
    value = cumulated = 0.0
    for of_distance in counts.tolist():
        c = sum(of_distance)
        gain = sum(g * mass for g, mass in zip(gains, of_distance, strict=True))
        value += gain / math.log2(cumulated + c / 2 + 1.5)
        cumulated += c
    return value


@pytest.mark.parametrize("n_bins, delta", [(None, 1.0), (3, 1.0), (6, 2.0)])
def test_simplified_is_equation_66(n_bins: int | None, delta: float) -> None:
    activations, labels = graded_batch(14, 6, seed=1)
    relevance = labels @ labels.T
    relaxed = torch.tanh(activations)
    counts = soft_histogram(relaxed_distance(relaxed), relevance, n_levels=6, n_bits=6, n_bins=n_bins, delta=delta)
    values = []
    for i in range(14):
        levels = [int(relevance[i, j]) for j in range(14) if j != i]
        if any(levels):
            values.append(equation_66(counts[i], [2**v - 1 for v in range(6)]) / ideal(levels))
    measured = tie_aware_ndcg.simplified(relaxed, relevance, n_bins=n_bins, delta=delta)
    assert measured.item() == pytest.approx(1 - sum(values) / len(values), abs=1e-12)


def test_exact_never_beats_the_ideal_order() -> None:
    for seed in range(30):
        activations, labels = graded_batch(20, 8, seed)
        value = tie_aware_ndcg.exact(torch.tanh(3 * activations), labels @ labels.T).item()
        assert 0 <= value <= 1
    generator = torch.Generator().manual_seed(0)
    counts = torch.rand(500, 9, 3, generator=generator, dtype=torch.float64) ** 6
    counts = counts / counts.sum(1, keepdim=True) * torch.tensor([7.0, 4.0, 2.0])  # whole level counts
    gains = torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64)
    best = tie_aware_ndcg.ideal_dcg(torch.tensor([[7, 4, 2]]), gains)
    assert (tie_aware_ndcg.dcg_exact(counts, gains) <= best + 1e-12).all()
    assert best.item() == pytest.approx(ideal([0] * 7 + [1] * 4 + [2] * 2))


def test_exact_gradient_at_an_empty_distance_is_the_one_sided_derivative() -> None:
    counts = torch.tensor([[[2.0, 1.0], [0.0, 0.0], [1.0, 2.5]]], dtype=torch.float64, requires_grad=True)
    gains = torch.tensor([0.0, 3.0], dtype=torch.float64)
    (gradient,) = torch.autograd.grad(tie_aware_ndcg.dcg_exact(counts, gains).sum(), counts)
    for v in (0, 1):
        step = torch.zeros_like(counts)
        step[0, 1, v] = 1e-5
        difference = tie_aware_ndcg.dcg_exact(counts + step, gains) - tie_aware_ndcg.dcg_exact(counts, gains)
        assert gradient[0, 1, v].item() == pytest.approx(difference.item() / 1e-5, abs=1e-4)


def test_high_levels_keep_their_gain() -> None:
    codes = torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    relevance = torch.tensor([[0, 1, 10], [1, 0, 40], [10, 40, 0]])
    first = (1 + 1023 * discount(2)) / (1023 + discount(2))
    top = 2**40 - 1
    second = (1 + top) * (1 + discount(2)) / 2 / (top + discount(2))
    third = 1.0
    assert tie_aware_ndcg.exact(codes, relevance).item() == pytest.approx(1 - (first + second + third) / 3, abs=1e-12)


def test_as_released_saturates_gains_and_ranks_the_query_in_its_own_ideal_order() -> None:
    generator = torch.Generator().manual_seed(0)
    relaxed = torch.tanh(torch.randn(7, 6, generator=generator, dtype=torch.float64))
    levels = torch.randint(0, 19, (7, 7), generator=generator)
    levels = torch.maximum(levels, levels.T)
    gains = [min(2**v, 127) - 1 for v in range(19)]  # MATLAB's integers stop at their largest
    counts = soft_histogram(relaxed_distance(relaxed), levels, n_levels=19, n_bits=6)
    total = 0.0
    for histogram, of_query in zip(counts, levels.tolist(), strict=True):
        best = sorted((gains[v] for v in of_query), reverse=True)
        total += equation_66(histogram, gains) / sum(g * discount(rank) for rank, g in enumerate(best, start=1))
    assert tie_aware_ndcg.as_released(relaxed, levels).item() == pytest.approx(1 - total / 7, rel=1e-12)
