"""The cosine of two codes against that of their items, each bit +1 for half of the batch: BiHalf without labels."""

import torch
from torch import Tensor

from hashbench.learning.losses._codes import bi_half
from hashbench.learning.losses._halves import cosine_gap
from hashbench.learning.losses._objective import ItemObjective


class Objective(ItemObjective):
    """``cosine_gap`` of b = ``bi_half`` of the activations, whose gradient has a term with ``gamma`` [li2021deep].

    In encoding a bit is the sign of u, not the half of a batch: nothing makes its halves equal there.
    """

    def __init__(self, *, gamma: float) -> None:
        super().__init__()
        self.gamma = gamma

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, of activations [M, bits] before the sign; float64."""
        return cosine_gap(bi_half(activations.double(), self.gamma), self.vectors)
