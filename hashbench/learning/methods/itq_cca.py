"""ITQ-CCA: canonical directions of the features and the labels, then ITQ's rotation (Gong, Lazebnik et al. 2013).

A direction w of the features X has C_xy C_yy^-1 C_yx w = r^2 C_xx w, w^T C_xx w = 1, where ``ridge`` I is added to C_xx
and C_yy; it is scaled by its correlation r. Y of C classes gives at most C - 1 directions (C for several labels).
"""

from typing import Literal

import numpy as np
import scipy
from pydantic import Field

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._members import labelled_examples
from hashbench.learning.methods._shallow import Linear, ShallowSettings, shallow_method
from hashbench.learning.methods.itq import rotation

RANK = 1e-6  # a squared correlation below it is 0 up to rounding


class Settings(ShallowSettings):
    """More bits than directions are signs of these, rotated into as many dimensions as bits: ``spread``."""

    iterations: int = Field(ge=1)  # of the rotation
    ridge: float = Field(gt=0)
    more_bits: Literal["spread"]  # a part of the name of each run


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    labelled, members = labelled_examples("itq_cca", features, data, several=True)
    scaled = canonical(labelled, members, settings.ridge)
    mean = labelled.mean(axis=0)
    return Linear(mean, rotated(labelled - mean, scaled, settings.bits, settings.iterations, data.seed))


def rotated(centred: Floats, scaled: Floats, bits: int, iterations: int, seed: int) -> Floats:
    """The projections [d, bits] of ITQ-CCA from the ``scaled`` directions [d, rank]."""
    used = scaled[:, :bits]
    return used @ rotation(centred @ used, bits, iterations, seed)


def canonical(features: Floats, members: Floats, ridge: float) -> Floats:
    """The directions r w [d, rank] between ``features`` and ``members`` [n, classes], the largest correlation first."""
    d = features.shape[1]
    both = np.hstack([features - features.mean(axis=0), members - members.mean(axis=0)])
    covariance = both.T @ both / (len(both) - 1) + ridge * np.eye(both.shape[1])
    lower = scipy.linalg.cholesky(covariance[:d, :d], lower=True)
    shared = scipy.linalg.solve_triangular(lower, covariance[:d, d:], lower=True)  # L^-1 C_xy
    squares, vectors = np.linalg.eigh(shared @ scipy.linalg.solve(covariance[d:, d:], shared.T, assume_a="pos"))
    kept = np.flatnonzero(squares > RANK)[::-1][: members.shape[1]]
    directions: Floats = scipy.linalg.solve_triangular(lower, vectors[:, kept], lower=True, trans=1) * np.sqrt(
        squares[kept]
    )
    return directions


METHOD = shallow_method(Settings, _fit, Linear, supervision="labels")
