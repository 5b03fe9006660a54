"""The cosine of two signs against that of their items, with a gradient straight through: GreedyHash without labels."""

import torch
from torch import Tensor

from hashbench.learning.losses._batch import quantisation
from hashbench.learning.losses._codes import straight_through
from hashbench.learning.losses._halves import cosine_gap
from hashbench.learning.losses._objective import ItemObjective


class Objective(ItemObjective):
    """``cosine_gap`` of sign(u) plus ``alpha`` times the mean over examples and bits of | |u| - 1 |^3 [su2018greedy].

    dL/du is dL/d sign(u) plus the gradient of the second term. A sign is -1 at 0; the released code has 0 there.
    """

    def __init__(self, *, alpha: float) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, of activations [M, bits] before the sign; float64."""
        penalty = quantisation(activations, power=3, over_bits="mean")
        return cosine_gap(straight_through(activations.double()), self.vectors) + self.alpha * penalty
