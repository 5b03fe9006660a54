"""Pairwise likelihood, with discrete codes from which a linear classifier tells the classes: DSDH's objective."""

import torch
from torch import Tensor

from hashbench.losses._classes import ClassSupervision
from hashbench.losses._discrete import coordinate_descent
from hashbench.losses._objective import RowObjective

SWEEPS = 10


class Objective(RowObjective):
    """The objective of li2017deep as its authors minimise it: both discrete steps are of the minibatch.

    The ``likelihood`` of DPSH, without its quantisation, plus ``eta`` times the mean over examples of ||b - u||^2,
    summed over bits. The codes b have no gradient: see ``discrete_codes``. An example with several labels has a 1 for
    each of them.
    """

    def __init__(
        self, likelihood: RowObjective, classes: ClassSupervision, *, eta: float, pull: float, ridge: float
    ) -> None:
        super().__init__()
        self.likelihood, self.classes = likelihood, classes
        self.eta, self.pull, self.ridge = eta, pull, ridge

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The scalar to minimise, of activations [M, bits] before the sign; float64."""
        wide = activations.double()
        codes = discrete_codes(wide.detach(), self.classes.members(rows), pull=self.pull, ridge=self.ridge)
        likelihood = self.likelihood.forward(activations, rows, generator)
        return likelihood + self.eta * (codes - wide).square().sum(1).mean()


def discrete_codes(outputs: Tensor, members: Tensor, *, pull: float, ridge: float) -> Tensor:
    """The codes B [M, bits] that, with the best W, make ||Y - B W||^2 + ridge ||W||^2 + pull ||B - U||^2 small.

    ``outputs`` U [M, bits] and ``members`` Y [M, C] are float64. From B = 0 on, W = (B^T B + ridge I)^-1 B^T Y, then
    one sweep over the bits, ten times or until no bit changes.
    """
    codes = torch.zeros_like(outputs)
    identity = torch.eye(codes.shape[1], dtype=codes.dtype, device=codes.device)
    for _ in range(SWEEPS):
        before = codes
        weights = torch.linalg.solve(codes.T @ codes + ridge * identity, codes.T @ members)
        codes = coordinate_descent(codes, weights @ weights.T, members @ weights.T + pull * outputs)
        if torch.equal(codes, before):
            break
    return codes
