"""MIHash against the entropies written out in plain Python."""

import pytest
import torch
from torch import Tensor

from hashbench.learning.losses import mihash
from hashbench.learning.losses.soft_histogram import relaxed_distance, soft_histogram


def entropy(masses: Tensor) -> Tensor:
    shares = masses[masses > 0] / masses.sum()
    return -(shares * shares.log2()).sum()


def batch(m: int, bits: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    label = torch.randint(4, (m,), generator=generator)
    relaxed = torch.tanh(torch.randn(m, bits, generator=generator, dtype=torch.float64))
    relevance = (label[:, None] == label).long()
    relevance[0] = 1  # a query without an irrelevant example is left out
    relevance[:, 0] = 1
    return relaxed, relevance


@pytest.mark.parametrize("n_bins", [None, 3, 8])
@pytest.mark.parametrize("seed", [0, 1])
def test_equals_the_entropies(n_bins: int | None, seed: int) -> None:
    relaxed, relevance = batch(13, 8, seed)
    counts = soft_histogram(relaxed_distance(relaxed), relevance, n_levels=2, n_bits=8, n_bins=n_bins)
    values = []
    for irrelevant, relevant in counts.transpose(1, 2):
        if irrelevant.sum() > 0.5 and relevant.sum() > 0.5:  # H(D) - p^+ H(D|+) - p^- H(D|-)
            share = relevant.sum() / (relevant.sum() + irrelevant.sum())
            conditional = share * entropy(relevant) + (1 - share) * entropy(irrelevant)
            values.append(entropy(irrelevant + relevant) - conditional)
    expected = -torch.stack(values).mean().item()
    assert mihash.loss(relaxed, relevance, n_bins=n_bins).item() == pytest.approx(expected, abs=1e-9)
