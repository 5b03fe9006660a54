"""Functions on a minibatch that several objectives share; each example is a query and the others are its database."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import softplus

from hashbench.learning.losses._codes import signs


def off_diagonal_mask(relevance: Tensor) -> Tensor:
    """The mask bool[M, M] that is False on the diagonal: an example is never retrieved by itself."""
    return ~torch.eye(len(relevance), dtype=torch.bool, device=relevance.device)


def relevant_mask(relevance: Tensor) -> Tensor:
    """The mask bool[M, M] of relevant pairs i != j: True where the level is above 0, False on the diagonal."""
    return (relevance > 0) & off_diagonal_mask(relevance)


def mean_where(value: Tensor, counted: Tensor) -> Tensor:
    """The mean of ``value`` where ``counted``, of its shape, is True; without any it is 0, with zero gradients."""
    return (value * counted).sum() / counted.sum().clamp(min=1)


def inner_products(activations: Tensor) -> Tensor:
    """The inner products u_i . u_j, float64[M, M]: autocast does not change float64, and large squares are finite."""
    wide = activations.double()
    return wide @ wide.T


def squared_distances(activations: Tensor) -> Tensor:
    """||u_i - u_j||^2, float64[M, M]; from inner products, so it is clamped to 0 where rounding would be below."""
    product = inner_products(activations)
    squares = product.diagonal()
    return (squares[:, None] + squares - 2 * product).clamp(min=0)


def label_cosines(shared: Tensor) -> Tensor:
    """The cosines of label vectors, float64[M, M] in [0, 1], from the numbers of labels that two items share.

    The diagonal is the number of labels of an item; where it has none, its cosines are 0.
    """
    norms = shared.diagonal().clamp(min=1).double().sqrt()
    return (shared / (norms[:, None] * norms)).clamp(0, 1)


def likelihood(theta: Tensor, similar: Tensor, linear_above: float = 20.0) -> Tensor:
    """log(1 + e^theta) - s theta: minus the log of the likelihood that a pair is similar (s = 1) or not (s = 0).

    e^theta / (1 + e^theta) is the probability that it is. For theta > ``linear_above``, log(1 + e^theta) is theta.
    """
    return softplus(theta, threshold=linear_above) - similar * theta


PairWeights = Literal["none", "similar", "both"]


def pair_weights(counted: Tensor, similar: Tensor, kind: PairWeights) -> Tensor:
    """The weights of pairs, float64[M, M], of a batch whose similar pairs are few; 0 where ``counted`` is False.

    A similar pair has |S| / |S1| (of "none": 1), a dissimilar one |S| / |S0| (of "both") or 1. S are the counted pairs,
    S1 and S0 the similar and the dissimilar ones among them; ``similar`` is False where ``counted`` is.
    """
    n_pairs = counted.sum().double()
    n_similar = similar.sum().double()
    one = torch.ones_like(n_pairs)
    of_similar = one
    if kind != "none":
        of_similar = n_pairs / n_similar.clamp(min=1)
    of_dissimilar = one
    if kind == "both":
        of_dissimilar = n_pairs / (n_pairs - n_similar).clamp(min=1)
    return of_similar.where(similar, of_dissimilar) * counted


def quantisation(activations: Tensor, power: int = 2, over_bits: Literal["sum", "mean"] = "sum") -> Tensor:
    """The mean over examples of sum_k |sign(u_k) - u_k|^power, or of the mean over k; float64.

    |sign(u) - u| is ||u| - 1|. sign(0) = -1, as in codes, and has no gradient.
    """
    wide = activations.double()
    cost = (signs(wide) - wide).abs().pow(power)
    n = cost.numel() if over_bits == "mean" else len(cost)
    return cost.sum() / max(n, 1)
