"""Asymmetric Deep Supervised Hashing: the network's codes against learnt codes of all training examples."""

import torch
from torch import Tensor

from hashbench.learning.losses._discrete import coordinate_descent
from hashbench.learning.losses._objective import OutputMemory, Supervision

ROWS = 1000  # groups of examples whose relevance to all others is in memory at a time


class Objective(OutputMemory):
    """The objective of jiang2018asymmetric, for codes V of the training examples, ``codes`` [n, bits] of -1 and +1.

    The mean of (<f_i, v_j> - bits s_ij)^2 over the M n pairs of a batch example i and a training example j, plus
    ``gamma`` / n times the mean over the batch of ||v_i - f_i||^2, where f are the relaxed codes. s_ij is 1 for a
    similar pair and -r for another, r the number of similar pairs over that of the others.

    Each ``every`` epochs V is solved for, bit by bit, from the last relaxed codes of all examples; it is 0 at first, as
    in the authors' code. They draw 2,000 of the searched items for each solution; here every training example counts.
    """

    codes: Tensor
    pulls: Tensor
    constants: Tensor
    members: Tensor
    groups: Tensor

    def __init__(self, supervision: Supervision, bits: int, *, gamma: float, every: int) -> None:
        super().__init__(supervision, bits)
        self.gamma = gamma
        self.every = every
        n = supervision.n_examples
        self.register_buffer("codes", torch.zeros(n, bits, dtype=torch.float64))
        self.register_buffer("pulls", torch.zeros(n, bits, dtype=torch.float64))  # sum_j s_ij v_j of each example i
        members, groups = supervision.alike()
        self.register_buffer("members", members, persistent=False)
        self.register_buffer("groups", groups, persistent=False)
        sizes = torch.bincount(groups).double()
        blocks = [self._similar(block).double() @ sizes for block in torch.split(members, ROWS)]
        similar = torch.cat(blocks)[groups]
        self.contrast = float(similar.sum()) / max(1, n**2 - int(similar.sum()))
        constants = similar + self.contrast**2 * (n - similar)  # sum_j s_ij^2
        self.register_buffer("constants", constants, persistent=False)

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, float64.

        The squares are multiplied out, sum_j (f v_j)^2 = f V^T V f, and so a step costs M bits^2, not M n bits.
        """
        self.remember(rows, activations)
        wide = activations.double()
        codes = self.codes
        bits = activations.shape[1]
        squares = (wide @ (codes.T @ codes) * wide).sum(1) - 2 * bits * (wide * self.pulls[rows]).sum(1)
        cost = (squares + bits**2 * self.constants[rows]).mean() / len(codes)
        distance = (codes[rows] - wide).square().sum(1).mean()
        return cost + self.gamma / len(codes) * distance

    def after_epoch(self, epoch: int) -> None:
        """Solves for the codes if it is time: one sweep over the bits, from those of before."""
        if (epoch + 1) % self.every:
            return
        outputs = self.outputs.double()
        target = outputs.shape[1] * self._pulled(outputs) + self.gamma * outputs
        self.codes.copy_(coordinate_descent(self.codes, outputs.T @ outputs, target))
        self.pulls.copy_(self._pulled(self.codes))

    def _pulled(self, values: Tensor) -> Tensor:
        """sum_j s_ij x_j of each example i, for the rows x_j of ``values`` [n, bits], first those of a group."""
        sums = values.new_zeros(len(self.members), values.shape[1]).index_add_(0, self.groups, values)
        wanted = (torch.where(self._similar(block), 1.0, -self.contrast) for block in torch.split(self.members, ROWS))
        return torch.cat([block.double() @ sums for block in wanted])[self.groups]

    def _similar(self, members: Tensor) -> Tensor:
        return self.supervision.levels(members, self.members) > 0
