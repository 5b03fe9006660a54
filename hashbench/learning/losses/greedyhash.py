"""Cross-entropy of a linear classifier on the signs, whose gradient passes straight through: GreedyHash's objective."""

import torch
from torch import Tensor

from hashbench.learning.losses._batch import quantisation
from hashbench.learning.losses._classes import ClassSupervision, HeadObjective
from hashbench.learning.losses._codes import straight_through


class Objective(HeadObjective):
    """The cross-entropy of W sign(u) plus ``alpha`` times the mean over examples and bits of | |u| - 1 |^3.

    The classifier has no bias. dL/du is dL/d sign(u) plus the gradient of the second term, as released. A sign is -1
    at 0, as in the codes; the released code has 0 there.
    """

    def __init__(self, classes: ClassSupervision, bits: int, *, alpha: float) -> None:
        super().__init__(classes, bits, bias=False)
        self.alpha = alpha

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, of activations [M, bits] before the sign; float64."""
        penalty = quantisation(activations, power=3, over_bits="mean")
        return self.cross_entropy(straight_through(activations), rows) + self.alpha * penalty
