"""Cross-entropy of a linear classifier on codes whose bits are +1 for half of the batch: BiHalf with labels."""

import torch
from torch import Tensor

from hashbench.learning.losses._classes import ClassSupervision, HeadObjective
from hashbench.learning.losses._codes import bi_half


class Objective(HeadObjective):
    """The cross-entropy of W b + a, b = ``bi_half`` of the activations, whose gradient has a term with ``gamma``.

    In training a bit is +1 above about the median of the batch, in encoding above 0: the term with gamma draws the
    activations to their codes, and so the median to 0 [li2021deep, whose objective has no labels].
    """

    def __init__(self, classes: ClassSupervision, bits: int, *, gamma: float) -> None:
        super().__init__(classes, bits)
        self.gamma = gamma

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, of activations [M, bits] before the sign; float64."""
        return self.cross_entropy(bi_half(activations.double(), self.gamma), rows)
