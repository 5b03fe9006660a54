"""The scatter against the kernel of eq. 14 written out bin by bin."""

import pytest
import torch
from torch import Tensor

from hashbench.learning.losses.soft_histogram import relaxed_distance, soft_histogram


def bin_by_bin(distance: Tensor, level: Tensor, n_levels: int, n_bits: int, n_bins: int, delta: float) -> Tensor:
    width = n_bits / n_bins
    counts = torch.zeros(len(distance), n_bins + 1, n_levels, dtype=torch.float64)
    for i in range(len(distance)):
        for j in range(len(distance)):
            for d in range(n_bins + 1):
                pulse = 1 - abs(float(distance[i, j]) - d * width) / (delta * width)
                if i != j and pulse > 0:
                    counts[i, d, level[i, j]] += pulse / delta
    return counts


def batch(n_examples: int, n_bits: int, n_levels: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    relaxed = torch.tanh(2 * torch.randn(n_examples, n_bits, generator=generator, dtype=torch.float64))
    return relaxed, torch.randint(n_levels, (n_examples, n_examples), generator=generator)


@pytest.mark.parametrize("delta", [1, 1.5, 2, 2.25, 3])
@pytest.mark.parametrize("n_bins", [1, 4, 8, 11])
def test_equals_the_kernel_bin_by_bin(n_bins: int, delta: float) -> None:
    relaxed, level = batch(7, 8, 3)
    distance = relaxed_distance(relaxed)
    measured = soft_histogram(distance, level, n_levels=3, n_bits=8, n_bins=n_bins, delta=delta)
    torch.testing.assert_close(measured, bin_by_bin(distance, level, 3, 8, n_bins, delta), rtol=0, atol=1e-12)


def test_rounding_errors_are_clamped_into_the_end_bins() -> None:
    distance = torch.tensor([[0, -1e-7, 8 + 1e-6], [8, 0, 0], [8 - 1e-12, 4, 0]], dtype=torch.float64)
    counts = soft_histogram(distance, torch.zeros(3, 3, dtype=torch.long), n_levels=1, n_bits=8)[:, :, 0]
    assert counts[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert counts[1].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 1]
    torch.testing.assert_close(counts.sum(1), torch.full((3,), 2.0, dtype=torch.float64))


@pytest.mark.parametrize("rounding", [0.0, 1e-7])
def test_gradient_at_the_ends_points_inwards(rounding: float) -> None:
    distance = torch.tensor([[0, -rounding], [4 + rounding, 0]], dtype=torch.float64, requires_grad=True)
    counts = soft_histogram(distance, torch.zeros(2, 2, dtype=torch.long), n_levels=1, n_bits=4)[:, :, 0]
    (counts * torch.arange(5.0).square()).sum().backward()
    assert distance.grad is not None
    assert distance.grad.tolist() == [[0, 1], [16 - 9, 0]]


def test_distances_far_outside_are_clamped_without_a_gradient() -> None:
    distance = torch.tensor([[0, -3.0], [1e30, 0]], dtype=torch.float64, requires_grad=True)
    counts = soft_histogram(distance, torch.zeros(2, 2, dtype=torch.long), n_levels=1, n_bits=4)[:, :, 0]
    assert counts.tolist() == [[1, 0, 0, 0, 0], [0, 0, 0, 0, 1]]
    (counts * torch.arange(5.0).square()).sum().backward()
    assert distance.grad is not None
    assert distance.grad.count_nonzero() == 0
