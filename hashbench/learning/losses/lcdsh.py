"""Pairwise likelihood that relaxed and binary codes agree on: LCDSH, Locality Constrained Deep Supervised Hashing."""

from torch import Tensor

from hashbench.learning.losses._batch import inner_products, likelihood, mean_where, off_diagonal_mask, relevant_mask
from hashbench.learning.losses._codes import signs


def loss(activations: Tensor, relevance: Tensor, *, eta: float) -> Tensor:
    """The mean over pairs of log(1 + e^theta) - s theta + eta (sigma(theta) - sigma(theta^b))^2; a float64 scalar.

    theta_ij = <u_i, u_j> / 2 and theta^b_ij = <b_i, b_j> / 2 of b = sign(u), which has no gradient; sigma is the
    logistic function, so sigma(theta) is the probability that the pair is similar; s_ij = 1 where the level is above 0.
    The mean runs over the ordered pairs i != j and is 0 without any. The formula is that of a re-implementation.

    ``activations`` float[M, bits] are before the sign; the diagonal of the levels ``relevance`` [M, M] never counts.
    """
    theta = inner_products(activations) / 2
    of_codes = inner_products(signs(activations)) / 2
    locality = (theta.sigmoid() - of_codes.sigmoid()).square()
    cost = likelihood(theta, relevant_mask(relevance)) + eta * locality
    return mean_where(cost, off_diagonal_mask(relevance))
