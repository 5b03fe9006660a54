"""Functions on a minibatch that several objectives share; each example is a query and the others are its database."""

import torch
from torch import Tensor

from hashbench.foundation.errors import HashbenchError


def check(relaxed: Tensor, relevance: Tensor) -> None:
    """Raises HashbenchError unless ``relaxed`` is float[M, bits], M >= 1, and ``relevance`` whole levels [M, M]."""
    n_examples = len(relaxed) if relaxed.ndim else 0
    if relaxed.ndim != 2 or not relaxed.is_floating_point() or relaxed.numel() == 0:
        raise HashbenchError(
            f"batch: codes are {relaxed.dtype}{list(relaxed.shape)}; floats [examples, bits] are needed"
        )
    if relevance.shape != (n_examples, n_examples) or relevance.is_floating_point():
        raise HashbenchError(
            f"batch: relevance is {relevance.dtype}{list(relevance.shape)}; "
            f"whole levels [{n_examples}, {n_examples}] are needed"
        )


def off_diagonal_mask(relevance: Tensor) -> Tensor:
    """The mask bool[M, M] that is False on the diagonal: an example is never retrieved by itself."""
    return ~torch.eye(len(relevance), dtype=torch.bool, device=relevance.device)


def relevant_mask(relevance: Tensor) -> Tensor:
    """The mask bool[M, M] of relevant pairs i != j: True where the level is above 0, False on the diagonal."""
    return (relevance > 0) & off_diagonal_mask(relevance)


def mean_where(value: Tensor, counted: Tensor) -> Tensor:
    """The mean of ``value`` [M] over the queries where ``counted`` bool[M] is True.

    If there are none, it is 0 and still has a graph, with zero gradients.
    """
    return (value * counted).sum() / counted.sum().clamp(min=1)


def inner_products(activations: Tensor) -> Tensor:
    """The inner products u_i . u_j, float64[M, M].

    They are float64 because autocast does not change it and because squares of large activations stay finite in it.
    """
    wide = activations.double()
    return wide @ wide.T


def quantisation(activations: Tensor) -> Tensor:
    """The quantisation error: the mean over examples of ||sign(u) - u||^2, summed (not averaged) over bits; float64.

    sign(0) is -1, as in the codes; the sign has no gradient.
    """
    wide = activations.double()
    sign = torch.where(wide > 0, 1.0, -1.0)
    return (sign - wide).square().sum() / max(len(wide), 1)
