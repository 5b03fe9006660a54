"""Functions on a minibatch that several objectives share; each example is a query and the others are its database."""

import torch
from torch import Tensor

from hashbench.foundation.errors import HashbenchError


def check(relaxed: Tensor, relevance: Tensor) -> None:
    """Raises HashbenchError unless ``relaxed`` is float[M, bits], M >= 1, and ``relevance`` whole levels [M, M]."""
    require(is_batch(relaxed), "codes", relaxed, "floats [examples, bits]")
    n = len(relaxed)
    is_square = relevance.shape == (n, n) and not relevance.is_floating_point()
    require(is_square, "relevance", relevance, f"whole levels [{n}, {n}]")


def is_batch(values: Tensor) -> bool:
    """Whether ``values`` are floats [M, d] with M >= 1 and d >= 1."""
    return values.ndim == 2 and values.is_floating_point() and values.numel() > 0


def require(condition: bool, name: str, values: Tensor, needed: str) -> None:
    """Raises HashbenchError, with type and shape of ``values``, unless the condition holds."""
    if not condition:
        raise HashbenchError(f"batch: {name}: {values.dtype}{list(values.shape)}; {needed} are needed")


def off_diagonal_mask(relevance: Tensor) -> Tensor:
    """The mask bool[M, M] that is False on the diagonal: an example is never retrieved by itself."""
    return ~torch.eye(len(relevance), dtype=torch.bool, device=relevance.device)


def relevant_mask(relevance: Tensor) -> Tensor:
    """The mask bool[M, M] of relevant pairs i != j: True where the level is above 0, False on the diagonal."""
    return (relevance > 0) & off_diagonal_mask(relevance)


def mean_where(value: Tensor, counted: Tensor) -> Tensor:
    """The mean of ``value`` [M] where ``counted`` bool[M] is True; without any it is 0, with zero gradients."""
    return (value * counted).sum() / counted.sum().clamp(min=1)


def inner_products(activations: Tensor) -> Tensor:
    """The inner products u_i . u_j, float64[M, M]: autocast does not change float64, and large squares are finite."""
    wide = activations.double()
    return wide @ wide.T


def quantisation(activations: Tensor) -> Tensor:
    """The mean over examples of ||sign(u) - u||^2, summed over bits; float64; sign(0) = -1 without gradient."""
    wide = activations.double()
    sign = torch.where(wide > 0, 1.0, -1.0)
    return (sign - wide).square().sum() / max(len(wide), 1)
