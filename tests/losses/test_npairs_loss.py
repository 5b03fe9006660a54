"""The N-pair objective against loops over anchors and positives."""

import math

import pytest
import torch
from torch import Tensor

from hashbench.foundation.errors import HashbenchError
from hashbench.losses import metric_learning


def batch(n: int = 5, d: int = 4, seed: int = 0) -> Tensor:
    return torch.randn(2 * n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def slow_loss(embeddings: Tensor, l2: float) -> float:
    rows = embeddings.tolist()
    n = len(rows) // 2
    anchors, positives = rows[:n], rows[n:]
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


def test_gradient_is_that_of_the_value() -> None:
    assert torch.autograd.gradcheck(lambda f: metric_learning.npairs(f, l2=0.1), (batch().requires_grad_(),))


def test_the_order_of_classes_does_not_matter_but_that_of_rounds_must_agree() -> None:
    embeddings = batch(6)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    value = metric_learning.npairs(embeddings, l2=0.1)
    torch.testing.assert_close(metric_learning.npairs(embeddings[torch.cat([order, order + 6])], l2=0.1), value)
    assert not torch.isclose(metric_learning.npairs(embeddings[torch.cat([torch.arange(6), order + 6])], l2=0.1), value)


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1e15])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_finite_at_the_edges(scale: float, dtype: torch.dtype) -> None:
    leaf = (scale * batch()).to(dtype).requires_grad_()
    value = metric_learning.npairs(leaf, l2=0.003)
    value.backward()
    assert value.isfinite()
    assert leaf.grad is not None
    assert leaf.grad.isfinite().all()


def test_equal_embeddings_tell_no_class_from_another() -> None:
    leaf = torch.ones(10, 3, requires_grad=True)
    value = metric_learning.npairs(leaf, l2=0.0)
    value.backward()
    assert value.item() == pytest.approx(math.log(5))
    assert leaf.grad is not None
    assert leaf.grad.isfinite().all()


def test_not_a_number_in_gives_not_a_number_out() -> None:
    embeddings = batch()
    embeddings[7, 1] = torch.nan
    assert metric_learning.npairs(embeddings, l2=0.0).isnan()


def test_autocast_changes_nothing() -> None:
    outside = metric_learning.npairs(batch().float(), l2=0.1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(metric_learning.npairs(batch().float(), l2=0.1), outside)


@pytest.mark.parametrize("shape", [(5, 3), (0, 3), (4,), (4, 0)])
def test_what_is_not_two_rounds_is_refused_in_one_line(shape: tuple[int, ...]) -> None:
    with pytest.raises(HashbenchError, match="two rounds") as caught:
        metric_learning.npairs(torch.zeros(shape), l2=0.0)
    assert "\n" not in str(caught.value)
