"""Hinge of each bit to that of a class's centre, the polarisation loss: DPN's objective."""

import torch
from torch import Tensor

from hashbench.codes.hadamard import Signs
from hashbench.losses._classes import CentreObjective, ClassSupervision, hinge


class Objective(CentreObjective):
    """The mean over examples of sum_k y_k sum_t max(0, margin - u_t c_kt).

    c_k is the centre of class k [fan2020deep]. With several labels, the hinges to the centres of all of them are added,
    as the code of one of its authors has it; an example without a label does not count.
    """

    takes_several = True

    def __init__(self, classes: ClassSupervision, centres: Signs, *, margin: float) -> None:
        super().__init__(classes, centres)
        self.margin = margin

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, of activations [M, bits] before the sign; float64."""
        return hinge(activations, self.classes.members(rows), self.centres, self.margin)
