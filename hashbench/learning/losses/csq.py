"""Likelihood of the bits of a class's centre, with quantisation: CSQ's objective."""

from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from hashbench.learning.losses._batch import mean_where
from hashbench.learning.losses._classes import CentreObjective, ClassSupervision, majority
from hashbench.scoring.codes.hadamard import Signs


def loss(activations: Tensor, targets: Tensor, labelled: Tensor, *, quantisation: float) -> Tensor:
    """The mean over examples and bits of log(1 + e^(-2 t u)), plus that of ``quantisation`` (|tanh u| - 1)^2.

    The first term is the binary cross-entropy of (1 + tanh u) / 2 to (1 + t) / 2 [yuan2020central], in a form that is
    finite for any u. ``activations`` are u float[M, bits] before tanh, ``targets`` t [M, bits] of -1 and +1;
    ``labelled`` bool[M] says which examples count. A float64 scalar.
    """
    wide = activations.double()
    cost = softplus(-2 * targets * wide) + quantisation * (wide.tanh().abs() - 1).square()
    return mean_where(cost.mean(1), labelled)


class Objective(CentreObjective):
    """``loss`` to the centre of an example's class; for several labels, to the ``majority`` of their centres.

    Where the bits of these add up to 0, the target is a bit of one random code, drawn once for the run. An example
    without a label does not count; the released code has a mean over nothing for it.
    """

    fill: Tensor

    def __init__(self, classes: ClassSupervision, centres: Signs, *, quantisation: float) -> None:
        super().__init__(classes, centres, partial(loss, quantisation=quantisation))
        drawn = np.random.default_rng([classes.seed, 1]).choice(np.array([-1, 1], np.int8), centres.shape[1])
        self.register_buffer("fill", torch.from_numpy(drawn))

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, of activations [M, bits] before tanh; float64."""
        members = self.classes.members(rows)
        targets = majority(members, self.centres, self.fill)
        return self.loss(activations, targets, members.any(1))
