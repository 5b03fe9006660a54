"""Quadratic spherical mutual information of cosines and relevance: the objective of QSMI."""

import torch
from torch import Tensor

from hashbench.learning.losses._batch import quantisation, relevant_mask
from hashbench.learning.losses.metric_learning import cosines


def loss(activations: Tensor, relevance: Tensor, *, clamped: bool, alpha: float) -> Tensor:
    """The mean over pairs of (D Y - 1)^2 + Y^2 / m, plus alpha times the quantisation; a float64 scalar to minimise.

    Y_ij = (cos(u_i, u_j) + 1) / 2; D_ij = 1 where the level is above 0, and for an example and itself; m is M^2 over
    the sum of D (passalis2021deep). All M^2 pairs count; those of an example with itself have no gradient. Not
    ``clamped``, the cost of a pair is Y / m - D Y. The quantisation is the mean over examples of the sum over bits of
    ||u| - 1|, of activations that are not normalised.

    The authors' code has sums in place of both means, and so divided by M^2; their weight divided by M is ``alpha``.

    ``activations`` is float[M, bits]; only the quantisation depends on the length of a row. The diagonal of the levels
    ``relevance`` [M, M] never counts.
    """
    similar = relevant_mask(relevance) | torch.eye(len(relevance), dtype=torch.bool, device=relevance.device)
    share = similar.double().mean()  # 1 / m
    near = (cosines(activations) + 1) / 2
    if clamped:
        cost = (similar * near - 1).square() + near.square() * share
    else:
        cost = near * share - similar * near
    return cost.mean() + alpha * quantisation(activations, 1)
