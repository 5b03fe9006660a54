"""Pairwise likelihood with quantisation: DPSH's objective."""

import torch
from torch import Tensor

from hashbench.learning.losses._batch import (
    inner_products,
    likelihood,
    mean_where,
    off_diagonal_mask,
    quantisation,
    relevant_mask,
)
from hashbench.learning.losses._objective import OutputMemory, Supervision


def loss(activations: Tensor, relevance: Tensor, *, eta: float) -> Tensor:
    """The mean over pairs of log(1 + e^theta) - s theta, plus ``eta`` times the quantisation; a float64 scalar.

    theta_ij = <u_i, u_j> / 2; s_ij = 1 where the level is above 0. The mean runs over the M (M - 1) ordered pairs
    i != j; the quantisation is the mean over examples of ||sign(u) - u||^2, summed over bits. Implementations that
    divide both sums by (training examples x batch) weigh the quantisation by eta / training examples in these
    terms. Without pairs the mean is 0; a batch without similar pairs is not a special case.

    ``activations`` float[M, bits] are before the sign; the diagonal of the levels ``relevance`` [M, M] never counts.
    """
    cost = likelihood(inner_products(activations) / 2, relevant_mask(relevance))
    return mean_where(cost, off_diagonal_mask(relevance)) + eta * quantisation(activations)


class MemoryObjective(OutputMemory):
    """The objective of li2016feature as its authors minimise it: a minibatch is compared with all training examples.

    As ``loss``, but the mean runs over the M n pairs of an example of the batch and a training example, including the
    example itself. The outputs of the other examples are the last ones that were computed. A training example that no
    batch has held yet has theta = 0, and so no gradient.
    """

    def __init__(self, supervision: Supervision, bits: int, *, eta: float) -> None:
        super().__init__(supervision, bits)
        self.eta = eta

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, float64."""
        theta = self.products(rows, activations) / 2
        cost = likelihood(theta, self.supervision.similar(rows))
        return cost.mean() + self.eta * quantisation(activations)
