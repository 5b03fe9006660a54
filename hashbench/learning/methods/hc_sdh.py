"""HC-SDH: the codes of a class are a row of a Hadamard matrix, to which RBF responses are fitted (Koutaki et al. 2018).

P = (X^T X)^-1 X^T B in closed form. It was first named FSDH, which is now another method.
"""

import numpy as np

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.contract import Floats
from hashbench.learning.methods._discrete import RegressionSettings, regressed_method
from hashbench.learning.methods._shallow import ridge_solution
from hashbench.scoring.codes.hadamard import hadamard


class Settings(RegressionSettings):
    """``random_signs``: of the rows, so that no bit is the same in all; the first column is, without them."""

    random_signs: bool


def _learn(settings: Settings, inputs: Floats, members: Floats, random: np.random.Generator) -> Floats:
    rows = class_rows(members.shape[1], settings.bits)
    if settings.random_signs:
        rows *= random.choice([-1.0, 1.0], (len(rows), 1))
    return ridge_solution(inputs, settings.ridge)(members @ rows)


def class_rows(n_classes: int, bits: int) -> Floats:
    """The first rows of a Hadamard matrix, float64[n_classes, bits] of -1 and +1."""
    matrix = hadamard(bits)
    if matrix is None or n_classes > bits:
        rows = f"{n_classes} classes are rows of a Hadamard matrix of order {bits}"
        raise HashbenchError(f"hc_sdh: {rows}: bits must be 2 or a multiple of 4, and as many as classes or more")
    return matrix[:n_classes].astype(np.float64)


METHOD = regressed_method(__name__, Settings, _learn, several=False)
