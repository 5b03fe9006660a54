"""MIHash against the entropies written out in plain Python."""

import math

import pytest
import torch
from torch import Tensor

from hashbench.learning.losses import mihash
from hashbench.learning.losses.soft_histogram import relaxed_distance, soft_histogram


def entropy(masses: list[float]) -> float:
    total = sum(masses)
    return -sum(mass / total * math.log2(mass / total) for mass in masses if mass > 0)


def information(irrelevant: list[float], relevant: list[float]) -> float:
    """H(D) - p^+ H(D|+) - p^- H(D|-), of the counts of one query at delta = 1."""
    both = [a + b for a, b in zip(irrelevant, relevant, strict=True)]
    share = sum(relevant) / sum(both)
    return entropy(both) - share * entropy(relevant) - (1 - share) * entropy(irrelevant)


def batch(m: int, bits: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    label = torch.randint(4, (m,), generator=generator)
    relaxed = torch.tanh(torch.randn(m, bits, generator=generator, dtype=torch.float64))
    return relaxed, (label[:, None] == label).long()


@pytest.mark.parametrize("n_bins", [None, 3, 8])
@pytest.mark.parametrize("seed", [0, 1])
def test_equals_the_entropies(n_bins: int | None, seed: int) -> None:
    relaxed, relevance = batch(13, 8, seed)
    counts = soft_histogram(relaxed_distance(relaxed), relevance, n_levels=2, n_bits=8, n_bins=n_bins)
    values = []
    for i in range(13):
        irrelevant = counts[i, :, 0].tolist()
        relevant = counts[i, :, 1].tolist()
        if sum(irrelevant) > 0.5 and sum(relevant) > 0.5:
            values.append(information(irrelevant, relevant))
    assert mihash.loss(relaxed, relevance, n_bins=n_bins).item() == pytest.approx(-sum(values) / len(values), abs=1e-9)
