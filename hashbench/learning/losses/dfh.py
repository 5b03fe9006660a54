"""Pairwise likelihood with codes that are near the centres of their classes: the objective of Deep Fisher Hashing."""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from hashbench.learning.losses._batch import inner_products, mean_where, off_diagonal_mask, relevant_mask
from hashbench.learning.losses._classes import ClassSupervision, label_shares
from hashbench.learning.losses._codes import signs
from hashbench.learning.losses._objective import OutputMemory, RowObjective, Supervision


class Objective(RowObjective):
    """The objective of li2019push: a ``likelihood`` of pairs, and codes that are pulled to the centres of classes.

    The likelihood, plus ``eta`` times the mean over examples and bits of (B - u)^2. B = sign(mu C y + u) are codes of
    the batch that are pulled to the centres C of their classes; they have no gradient.

    At each batch C moves by one ``swept`` over the classes; the last centres are part of the state. Centres are 0 at
    first. An example with several labels has 1 / (their number) for each of them in Y; without labels it has 0.
    """

    centres: Tensor
    weights: Tensor

    def __init__(
        self, likelihood: RowObjective, labels: Tensor, bits: int, *, mu: float, vul: float, eta: float
    ) -> None:
        super().__init__()
        self.likelihood = likelihood
        self.mu = mu
        self.vul = vul
        self.eta = eta
        weights = label_weights(labels)
        self.register_buffer("weights", weights, persistent=False)  # Y^T
        self.register_buffer("centres", torch.zeros(weights.shape[1], bits, dtype=torch.float64))  # C^T

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The scalar to minimise, float64; the centres move."""
        weights = self.weights[rows].double()
        centres = self.centres.double()
        wide = activations.double()
        codes = signs(self.mu * weights @ centres + wide)
        self.centres.copy_(swept(centres, codes, weights, self.vul))
        cost = self.likelihood.forward(activations, rows, generator)
        return cost + self.eta * (codes - wide).square().mean()


def loss(activations: Tensor, relevance: Tensor, *, margin: float) -> Tensor:
    """The likelihood within a batch: the mean over the M (M - 1) ordered pairs i != j, a float64 scalar.

    A similar pair costs softplus(m - theta), another one softplus(m + theta), with theta = <u_i, u_j> / 2 and m the
    ``margin``. A pair is similar where the level in ``relevance`` [M, M] is above 0; its diagonal never counts.
    """
    sign = 1 - 2 * relevant_mask(relevance).double()
    cost = softplus(margin + sign * inner_products(activations) / 2)
    return mean_where(cost, off_diagonal_mask(relevance))


class MemoryLikelihood(OutputMemory):
    """``loss`` as the authors minimise it: the mean over the M n pairs of an example of the batch and a training one.

    The outputs of the training examples are the last ones that were computed, 0 before the first.
    """

    def __init__(self, supervision: Supervision, bits: int, *, margin: float) -> None:
        super().__init__(supervision, bits)
        self.margin = margin

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, float64."""
        self.remember(rows, activations)
        sign = torch.where(self.supervision.similar(rows), -1.0, 1.0).to(activations.dtype)
        # in the precision of the activations: float64 would take twice as long, and it is a mean of M n terms
        theta = activations / 2 @ self.outputs.to(activations.dtype).T
        return softplus(theta.mul_(sign).add_(self.margin)).mean().double()  # M n numbers in place


def swept(centres: Tensor, codes: Tensor, weights: Tensor, vul: float) -> Tensor:
    """The centres [C, bits] after one sweep: c_k = sign(sum_i y_ik b_i - sum over l != k of (Y Y^T_kl + vul) c_l).

    That is one round of coordinate descent on ||C Y - B||^2 + vul (the sum over k != l of <c_k, c_l>), which would make
    each two centres opposite. ``codes`` [M, bits] and ``weights`` [M, C] are B and Y of the batch; a class that the
    batch does not have gets the opposite of the sum of the others. Where that sign is of 0, the entry is 0.
    """
    new = centres.clone()
    pull = weights.T @ codes
    push = weights.T @ weights + vul
    push.fill_diagonal_(0)
    for k in range(len(new)):
        new[k] = (pull[k] - push[k] @ new).sign()
    return new


def label_weights(labels: Tensor) -> Tensor:
    """Y^T, float64[n, C]: the classes or labels of each example, whose weights sum to 1, or to 0 without any."""
    return label_shares(ClassSupervision(labels, seed=0).members(torch.arange(len(labels), device=labels.device)))
