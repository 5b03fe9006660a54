"""Pairwise likelihood of pairs that are similar or not, squares of pairs that are partly: the objective of IDHN."""

import torch
from torch import Tensor
from torch.nn.functional import softsign

from hashbench.learning.losses._batch import (
    inner_products,
    label_cosines,
    likelihood,
    mean_where,
    off_diagonal_mask,
    quantisation,
)

_SURE = 0.01  # a similarity of less than this, or of more than 1 - this, is 0 or 1


def loss(activations: Tensor, relevance: Tensor, *, scale: float, gamma: float, eta: float) -> Tensor:
    """The mean over pairs of the cost below, plus eta times the quantisation; a float64 scalar (zhang2019improved).

    h = u / (1 + |u|), g = <h_i, h_j>, and s is the cosine of the two vectors of labels. A pair with s of 0 or 1 costs
    log(1 + e^x) - s x, where x = ``scale`` g / bits; another one costs gamma bits ((g + bits) / (2 bits) - s)^2, which
    is 0 at g = bits (2 s - 1). The mean runs over the ordered pairs i != j and is 0 without any; the authors' code
    has those with i = j too. The quantisation is the mean over examples and bits of ||h| - 1|.

    ``activations`` float[M, bits] are before the softsign. The levels ``relevance`` [M, M] are numbers of shared labels
    and, on the diagonal, of each example's own: without any, s is 0. Of one class an item, s is 0 or 1.
    """
    soft = softsign(activations.double())
    bits = activations.shape[1]
    product = inner_products(soft)
    similarity = label_cosines(relevance)
    sure = (similarity < _SURE) | (similarity > 1 - _SURE)
    partly = gamma * bits * ((product + bits) / (2 * bits) - similarity).square()
    cost = torch.where(sure, likelihood(scale * product / bits, similarity), partly)
    return mean_where(cost, off_diagonal_mask(relevance)) + eta * quantisation(soft, 1, "mean")
