"""Hinge of each bit to that of codes from binary matrix pursuit: HBMP's second stage, with bits of equal weight."""

from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from hashbench.learning.losses import dpn
from hashbench.learning.losses._centres import eigen_signs
from hashbench.learning.losses._classes import CentreObjective, ClassSupervision


def objective(classes: ClassSupervision, bits: int, *, margin: float) -> CentreObjective:
    """The mean over examples of sum_t max(0, margin - u_t c_t), c the code of the example's class.

    The codes are ``eigen_signs`` of S, S_ij = 1 if i = j, else 0 [cakir2018hashing]. With several labels, each
    combination of labels among the training examples has a code, and S_ij = 1 if two combinations share a label. All
    bits weigh the same; the paper's headline figures rank by learned weights of bits, which is another thing.
    """
    combinations, similarity = _combinations(classes)
    centres = eigen_signs(similarity, bits, classes.seed)
    return CentreObjective(combinations, centres, partial(dpn.loss, margin=margin))


def _combinations(classes: ClassSupervision) -> tuple[ClassSupervision, NDArray[np.float64]]:
    """The supervision whose classes are the different combinations of labels, and S of these, float64[n, n]."""
    if not classes.are_several:
        return classes, np.eye(classes.n_classes)
    combinations, index = torch.unique(classes.labels, dim=0, return_inverse=True)
    labelled = combinations.any(1)
    wide = combinations[labelled].double()
    return ClassSupervision(torch.where(labelled[index], index, -1), classes.seed), (wide @ wide.T > 0).double().numpy()
