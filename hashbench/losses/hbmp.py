"""Hinge of each bit to that of codes from binary matrix pursuit: HBMP's second stage, with bits of equal weight."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hashbench.foundation.errors import HashbenchError
from hashbench.losses._centres import eigen_signs
from hashbench.losses._classes import CentreObjective, ClassSupervision, hinge

MOST_COMBINATIONS = 5000  # an eigenvector of a matrix of this size is computed for each bit


class Objective(CentreObjective):
    """The mean over examples of sum_t max(0, margin - u_t c_t), c the code of the example's class.

    The codes are ``eigen_signs`` of S, S_ij = 1 if i = j, else 0 [cakir2018hashing]. With several labels, each
    combination of labels among the training examples has a code, and S_ij = 1 if two combinations share a label. All
    bits weigh the same; the paper's headline figures rank by learned weights of bits, which is another thing.
    """

    takes_several = True

    def __init__(self, classes: ClassSupervision, bits: int, *, margin: float) -> None:
        combinations, similarity = _combinations(classes)
        if len(similarity) > 2**bits:
            more = f"{len(similarity)} classes or combinations of labels, and {2**bits} codes of {bits} bits"
            raise HashbenchError(f"hbmp: {more}: more bits, or fewer classes")
        super().__init__(combinations, eigen_signs(similarity, bits, classes.seed))
        self.margin = margin

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, of activations [M, bits] before the sign; float64."""
        return hinge(activations, self.classes.members(rows), self.centres, self.margin)


def _combinations(classes: ClassSupervision) -> tuple[ClassSupervision, NDArray[np.float64]]:
    """The supervision whose classes are the different combinations of labels, and S of these, float64[n, n]."""
    if not classes.are_several:
        return classes, np.eye(classes.n_classes)
    combinations, index = torch.unique(classes.labels, dim=0, return_inverse=True)
    labelled = combinations.any(1)
    wide = combinations[labelled].double()
    if len(wide) > MOST_COMBINATIONS:
        most = f"at most {MOST_COMBINATIONS} have codes: fewer training examples, or csq, dpn, orthohash"
        raise HashbenchError(f"hbmp: {len(wide)} combinations of labels among the training examples; {most}")
    return ClassSupervision(torch.where(labelled[index], index, -1), classes.seed), (wide @ wide.T > 0).double().numpy()
