"""AP_s against eq. 62 term by term; AP_r against the metric, which is tested against all orders of the ties."""

import numpy as np
import pytest
import torch
from torch import Tensor

from hashbench import score
from hashbench.learning.losses import tie_aware_ap
from hashbench.learning.losses.soft_histogram import relaxed_distance, soft_histogram


def binary_batch(m: int, bits: int, seed: int, n_classes: int = 3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    codes = torch.where(torch.randn(m, bits, generator=generator) > 0, 1.0, -1.0)
    label = torch.randint(n_classes, (m,), generator=generator)
    return codes, label


@pytest.mark.parametrize("m, bits", [(7, 3), (30, 4), (60, 12), (120, 32)])
def test_exact_is_the_metric_at_binary_codes(m: int, bits: int) -> None:
    codes, label = binary_batch(m, bits, seed=m)
    relevance = (label[:, None] == label).long()
    as_bits = (codes > 0).numpy().astype(np.uint8)
    expected = score(as_bits, as_bits, label.numpy(), label.numpy(), metrics=["ap"], exclude_self=True)["ap"]
    assert tie_aware_ap.exact(codes, relevance).item() == pytest.approx(1 - expected, abs=1e-12)


def fractional_histograms(n: int) -> tuple[Tensor, Tensor]:
    """Positive and total mass with empty bins, bins just above and below 1, pure and mixed ones."""
    generator = torch.Generator().manual_seed(7)
    uniform = torch.rand(n, 13, 3, generator=generator, dtype=torch.float64)
    scale = 10 ** (4 * torch.rand(n, 13, 2, generator=generator, dtype=torch.float64) - 3)
    mass = uniform[:, :, :2] * scale * (uniform[:, :, 2:] > 0.25)
    mass[::7, 3, 0] = 1 + 1e-12
    mass[::7, 3, 1] = 0
    mass[::5, 6, 0] = 0.4
    mass[::5, 6, 1] = 0.6 + 1e-15
    mass[::3, 8] = torch.tensor([0.9, 0.1 + 1e-6], dtype=torch.float64)
    return mass[:, :, 0], mass.sum(2)


def test_exact_is_a_fraction_for_every_histogram() -> None:
    positive, total = (part.requires_grad_() for part in fractional_histograms(2000))
    value = tie_aware_ap.average_precision_exact(positive, total)
    assert ((value >= 0) & (value <= 1 + 1e-9)).all()
    value.sum().backward()
    assert positive.grad is not None
    assert total.grad is not None
    assert positive.grad.isfinite().all()
    assert total.grad.isfinite().all()
    assert max(positive.grad.abs().max(), total.grad.abs().max()) < 1e5  # finite, and not by a hair


def test_exact_gradient_at_an_empty_distance_is_the_one_sided_derivative() -> None:
    positive = torch.tensor([[2.0, 0.0, 3.0]], dtype=torch.float64, requires_grad=True)
    negative = torch.tensor([[4.0, 0.0, 1.0]], dtype=torch.float64, requires_grad=True)
    n_relevant = torch.tensor([5.0])

    def value(p: Tensor, n: Tensor) -> Tensor:
        return tie_aware_ap.average_precision_exact(p, p + n, n_relevant).sum()

    step = 1e-5 * torch.tensor([[0.0, 1.0, 0.0]], dtype=torch.float64)
    gradients = torch.autograd.grad(value(positive, negative), (positive, negative))
    numeric = (
        (value(positive + step, negative) - value(positive, negative)) / 1e-5,
        (value(positive, negative + step) - value(positive, negative)) / 1e-5,
    )
    for gradient, difference in zip(gradients, numeric, strict=True):
        assert gradient[0, 1].item() == pytest.approx(difference.item(), abs=1e-4)


def equation_62(counts: Tensor, relevance: Tensor, scale: float = 1.0) -> float:
    """1 - the batch mean of AP_s, each divided by ``scale``, of histograms ``scale`` times ``counts`` [M, B, 2]."""
    values = []
    for i, histogram in enumerate(scale * counts):
        n_relevant = int(relevance[i].sum() - relevance[i, i])
        if n_relevant == 0:
            continue
        value = cumulated = cumulated_positive = 0.0
        for c_negative, c_positive in histogram.tolist():
            c = c_negative + c_positive
            value += c_positive / n_relevant * (2 * cumulated_positive + c_positive + 1) / (2 * cumulated + c + 1)
            cumulated += c
            cumulated_positive += c_positive
        values.append(value / scale)
    return 1 - sum(values) / len(values)


@pytest.mark.parametrize("n_bins, delta", [(None, 1.0), (4, 1.0), (8, 2.0), (4, 2.5)])
def test_simplified_is_equation_62_and_as_released_divides_the_average_precision_by_delta(
    n_bins: int | None, delta: float
) -> None:
    generator = torch.Generator().manual_seed(3)
    relaxed = torch.tanh(torch.randn(12, 8, generator=generator, dtype=torch.float64))
    label = torch.randint(4, (12,), generator=generator)
    relevance = (label[:, None] == label).long()
    counts = soft_histogram(relaxed_distance(relaxed), relevance, n_levels=2, n_bits=8, n_bins=n_bins, delta=delta)
    simplified = tie_aware_ap.simplified(relaxed, relevance, n_bins=n_bins, delta=delta).item()
    released = tie_aware_ap.as_released(relaxed, relevance, n_bins=n_bins, delta=delta).item()
    assert simplified == pytest.approx(equation_62(counts, relevance), abs=1e-12)
    assert released == pytest.approx(equation_62(counts, relevance, delta), abs=1e-12)
    assert (abs(released - simplified) < 1e-12) == (delta == 1)


def released_gradient(positive: Tensor, negative: Tensor) -> tuple[Tensor, Tensor]:
    """dAP_s/dc+ and dAP_s/dc- of one histogram as the authors' backward pass has them: no 2 below the diagonal."""
    n_bins = len(positive)
    of_positive = torch.zeros_like(positive)
    of_negative = torch.zeros_like(negative)
    total = positive + negative
    for d in range(n_bins):
        numerator = 2 * positive[:d].sum() + positive[d] + 1
        denominator = 2 * total[:d].sum() + total[d] + 1
        of_positive[d] += numerator / denominator
        for below in range(d + 1):
            of_positive[below] += positive[d] * (denominator - numerator) / denominator**2
            of_negative[below] -= positive[d] * numerator / denominator**2
    return of_positive / positive.sum(), of_negative / positive.sum()


def test_as_released_has_the_value_of_the_simplified_and_the_gradient_of_the_code() -> None:
    generator = torch.Generator().manual_seed(0)
    positive, negative = (3 * torch.rand(1, 7, generator=generator, dtype=torch.float64) for _ in range(2))
    leaves = [positive.clone().requires_grad_(), negative.clone().requires_grad_()]
    n_relevant = positive.sum(1)
    value = tie_aware_ap.average_precision_as_released(leaves[0], leaves[0] + leaves[1], n_relevant)
    value.sum().backward()
    plain = tie_aware_ap.average_precision_simplified(positive, positive + negative, n_relevant)
    torch.testing.assert_close(value.detach(), plain, rtol=1e-14, atol=0)
    for leaf, expected in zip(leaves, released_gradient(positive[0], negative[0]), strict=True):
        assert leaf.grad is not None
        torch.testing.assert_close(leaf.grad[0], expected, rtol=1e-12, atol=1e-14)
