"""IsoHash: the rotation of the principal components after which all bits have the same variance (Kong, Li 2012).

Lift and projection: of the matrices with the eigenvalues of the covariance and of those with equal variances on the
diagonal, the nearest ones are found in turn; each is found exactly.
"""

import numpy as np
from pydantic import Field

from hashbench.learning.contract import Floats
from hashbench.learning.methods._shallow import (
    ShallowSettings,
    first_components,
    linear_method,
    random_rotation,
    require_bits_below_features,
)


class Settings(ShallowSettings):
    """The search ends after ``iterations``, or when all variances are within a share ``tolerance`` of their mean."""

    iterations: int = Field(ge=1)
    tolerance: float = Field(ge=0)


def _project(settings: Settings, features: Floats, seed: int) -> tuple[Floats, Floats]:
    mean, axes = first_components(features, settings.bits)
    variances = np.square((features - mean) @ axes).mean(axis=0)
    first = random_rotation(settings.bits, seed)
    return mean, axes @ isotropic(variances / variances.mean(), first, settings.iterations, settings.tolerance)


def isotropic(variances: Floats, rotation: Floats, iterations: int, tolerance: float) -> Floats:
    """Q [b, b] with Q^T diag(variances) Q near 1 on its diagonal; ``variances`` [b] fall, their mean is 1."""
    for _ in range(iterations):
        turned = rotation.T * variances @ rotation
        if np.abs(turned.diagonal() - 1).max() <= tolerance:
            break
        np.fill_diagonal(turned, 1)
        # of all matrices with these eigenvalues, the nearest one has the eigenvectors in the same order
        rotation = np.linalg.eigh(turned)[1][:, ::-1].T
    return rotation


METHOD = linear_method(Settings, _project, require=require_bits_below_features)
