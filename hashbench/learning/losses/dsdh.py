"""Pairwise likelihood, with discrete codes from which a linear classifier tells the classes: DSDH's objective."""

from typing import Literal

import torch
from torch import Tensor

from hashbench.learning.losses._classes import ClassSupervision
from hashbench.learning.losses._codes import signs
from hashbench.learning.losses._discrete import coordinate_descent
from hashbench.learning.losses._objective import RowObjective

Classifier = Literal["once", "each_sweep"]
SWEEPS = 10


class Objective(RowObjective):
    """The objective of li2017deep as its authors minimise it: both discrete steps are of the minibatch.

    The ``likelihood`` of DPSH, without its quantisation, plus ``eta`` times the mean over examples of ||b - u||^2,
    summed over bits. The codes b have no gradient: see ``discrete_codes``. An example with several labels has a 1 for
    each of them.
    """

    def __init__(
        self,
        likelihood: RowObjective,
        classes: ClassSupervision,
        *,
        eta: float,
        pull: float,
        ridge: float,
        classifier: Classifier,
    ) -> None:
        super().__init__()
        self.likelihood = likelihood
        self.classes = classes
        self.classifier = classifier
        self.eta = eta
        self.pull = pull
        self.ridge = ridge

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The scalar to minimise, of activations [M, bits] before the sign; float64."""
        wide = activations.double()
        members = self.classes.members(rows)
        codes = discrete_codes(wide.detach(), members, pull=self.pull, ridge=self.ridge, classifier=self.classifier)
        likelihood = self.likelihood.forward(activations, rows, generator)
        return likelihood + self.eta * (codes - wide).square().sum(1).mean()


def discrete_codes(outputs: Tensor, members: Tensor, *, pull: float, ridge: float, classifier: Classifier) -> Tensor:
    """The codes B [M, bits] that, with the best W, make ||Y - B W||^2 + ridge ||W||^2 + pull ||B - U||^2 small.

    ``outputs`` U [M, bits] and ``members`` Y [M, C] are float64. B starts from 0. One sweep goes over the bits, ten
    times or until no bit changes. The classifier is W = (B^T B + ridge I)^-1 B^T Y: in the authors' code it is computed
    once, of the signs of U ("once"); in the paper it is of the codes before each sweep ("each_sweep").
    """
    codes = torch.zeros_like(outputs)
    weights = _classifier(signs(outputs), members, ridge)
    for _ in range(SWEEPS):
        before = codes
        if classifier == "each_sweep":
            weights = _classifier(codes, members, ridge)
        codes = coordinate_descent(codes, weights @ weights.T, members @ weights.T + pull * outputs)
        if torch.equal(codes, before):
            break
    return codes


def _classifier(codes: Tensor, members: Tensor, ridge: float) -> Tensor:
    """The weights [bits, C] of the ridge regression from ``codes`` to ``members``."""
    identity = torch.eye(codes.shape[1], dtype=codes.dtype, device=codes.device)
    return torch.linalg.solve(codes.T @ codes + ridge * identity, codes.T @ members)
