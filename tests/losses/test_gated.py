"""Gated comparisons against loops over pairs and bits, and against the printed form with codes as vectors."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from hashbench.learning.losses import gated

Pairwise = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def slow(term: Callable[[float, float], float]) -> Pairwise:
    """The sum of ``term`` over the bits of either code, pair by pair."""

    def compare(left: Tensor, left_buckets: Tensor, right: Tensor, right_buckets: Tensor) -> Tensor:
        return torch.tensor(
            [
                [sum(term(f[t], g[t]) for t in set(b) | set(c)) for g, c in _items(right, right_buckets)]
                for f, b in _items(left, left_buckets)
            ],
            dtype=left.dtype,
        )

    return compare


def _items(embeddings: Tensor, buckets: Tensor) -> list[tuple[list[float], list[int]]]:
    return list(zip(embeddings.tolist(), buckets.tolist(), strict=True))


def within(left: Tensor, left_buckets: Tensor, right: Tensor, right_buckets: Tensor) -> Tensor:
    """All pairs of both lists laid end to end, of which those of left and right are kept."""
    everything = torch.cat([left, right])
    buckets = torch.cat([left_buckets, right_buckets])
    return gated.distance_within(everything, buckets)[: len(left), len(left) :]


SLOW_DISTANCE = slow(lambda x, y: abs(x - y))
SLOW_SIMILARITY = slow(lambda x, y: x * y)
FORMS: dict[str, tuple[Pairwise, Pairwise]] = {
    "distance": (gated.distance, SLOW_DISTANCE),
    "distance_within": (within, SLOW_DISTANCE),
    "similarity": (gated.similarity, SLOW_SIMILARITY),
}
every_form = pytest.mark.parametrize("form, oracle", FORMS.values(), ids=FORMS)


def draw(n: int, d: int, k: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    buckets = torch.stack([torch.randperm(d, generator=generator)[:k] for _ in range(n)])
    return torch.randn(n, d, generator=generator, dtype=torch.float64), buckets


@every_form
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5), st.integers(1, 7), st.data())
def test_equals_the_loop(
    form: Pairwise, oracle: Pairwise, seed: int, left: int, right: int, d: int, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, d))
    pair = *draw(left, d, k, seed), *draw(right, d, k, seed + 1)
    torch.testing.assert_close(form(*pair), oracle(*pair), rtol=1e-12, atol=1e-12)


@every_form
@pytest.mark.parametrize("k", [1, 3])
def test_gradient_is_that_of_the_value(form: Pairwise, oracle: Pairwise, k: int) -> None:
    (f, b) = draw(4, 5, k)
    (g, c) = draw(3, 5, k, seed=1)
    f.requires_grad_(), g.requires_grad_()
    assert torch.autograd.gradcheck(lambda left, right: form(left, b, right, c), (f, g))
    assert torch.autograd.gradcheck(lambda both: gated.distance_within(both, b), (f,))
