"""Quantisation by optimal transport to random signs, bit by bit, added to another objective: HSWD."""

import torch
from torch import Tensor

from hashbench.learning.losses._objective import RowObjective


class WithTransport(RowObjective):
    """A ``base`` objective plus ``alpha`` times ``transport`` of the activations (doan2022one, with HashNet's).

    As in the authors' code the transport is of the activations as they are. With ``squash`` the base objective is given
    their tanh, else the activations too.
    """

    def __init__(self, base: RowObjective, *, alpha: float, squash: bool) -> None:
        super().__init__()
        self.base = base
        self.alpha = alpha
        self.squash = squash

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The scalar to minimise."""
        value: Tensor = self.base(activations.tanh() if self.squash else activations, rows, generator)
        return value + self.alpha * transport(activations, generator)


def transport(activations: Tensor, generator: torch.Generator) -> Tensor:
    """The mean over bits of the squared Wasserstein distance between a batch's outputs and as many random signs.

    Of numbers the optimal transport is in order: the r-th smallest output of a bit goes to the r-th smallest of its M
    signs, and the distance is the mean over r of the squared difference. Each sign is fair and from ``generator``, so
    about half of a bit's outputs are pulled to +1: the term balances bits as well. ``activations`` is float[M, bits];
    the result is a float64 scalar.
    """
    draws = torch.randint(2, activations.shape, generator=generator).to(activations.device)
    target = 2.0 * draws.double().sort(0).values - 1
    return (activations.double().sort(0).values - target).square().mean()
