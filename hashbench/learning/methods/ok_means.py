"""OK-means: orthogonal k-means (Norouzi, Fleet 2013), Cartesian k-means with two centres in each of ``bits`` subspaces.

The centres of 2^bits cells are mean + R D b, b in {-1, 1}^bits, R with orthonormal columns, D diagonal: ITQ with a mean
and a scale of each bit that are learned too. A cell is found by the signs of R^T (x - mean).
"""

import numpy as np
import scipy
from pydantic import Field

from hashbench.learning.contract import Floats
from hashbench.learning.methods._shallow import (
    ShallowSettings,
    first_components,
    linear_method,
    random_rotation,
    require_bits_below_features,
    signs,
)


class Settings(ShallowSettings):
    """``iterations`` is how often b and D, R, and the mean are updated in turn."""

    iterations: int = Field(ge=1)


def _project(settings: Settings, features: Floats, seed: int) -> tuple[Floats, Floats]:
    mean, axes = first_components(features, settings.bits)
    shift, rotation = quantised((features - mean) @ axes, random_rotation(settings.bits, seed), settings.iterations)
    return mean + axes @ shift, axes @ rotation


def quantised(x: Floats, rotation: Floats, iterations: int) -> tuple[Floats, Floats]:
    """The mean [b] and R [b, b] of ``x`` [n, b] after ``iterations``, each of three exact minimisations."""
    mean = np.zeros(x.shape[1])
    for _ in range(iterations):
        turned = (x - mean) @ rotation
        centres = signs(turned) * np.abs(turned).mean(axis=0)
        rotation = scipy.linalg.polar((x - mean).T @ centres)[0]
        mean = (x - centres @ rotation.T).mean(axis=0)
    return mean, rotation


METHOD = linear_method(Settings, _project, require=require_bits_below_features)
