"""Pairwise likelihood with quantisation: DPSH's objective."""

from torch import Tensor
from torch.nn.functional import softplus

from hashbench.losses._batch import check, inner_products, others, quantisation, relevance


def loss(activations: Tensor, affinity: Tensor, *, eta: float) -> Tensor:
    """The mean over pairs of log(1 + e^theta) - s theta, plus eta times the quantisation; a float64 scalar.

    theta_ij = <u_i, u_j> / 2; s_ij = 1 where the level is above 0. The mean runs over the M (M - 1) ordered pairs
    i != j; the quantisation is the mean over examples of ||sign(u) - u||^2, summed over bits. Implementations that
    divide both sums by (training examples x batch) weigh the quantisation by eta / training examples in these
    terms. No pair is a mean of 0; a batch without similar pairs is no exception.

    Args:
        activations: float[M, bits], real outputs of the network before the sign.
        affinity: whole levels [M, M]; the diagonal never counts.
        eta: weight of the quantisation.
    """
    check(activations, affinity)
    theta = inner_products(activations) / 2
    off_diagonal = others(affinity)
    cost = (softplus(theta) - relevance(affinity) * theta) * off_diagonal
    return cost.sum() / off_diagonal.sum().clamp(min=1) + eta * quantisation(activations)
