"""Skip-PCA: signs of principal components of the training features, without the first ones."""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench import HashbenchError, ShallowSettings, linear_method

Floats = NDArray[np.float64]


class Settings(ShallowSettings):
    """``skip``: how many components, the first ones, are left out."""

    skip: int = Field(ge=0)


def _project(settings: Settings, features: Floats, seed: int) -> tuple[Floats, Floats]:
    """The mean [d] and the projection [d, bits] of the features [n, d]."""
    most = min(features.shape) - settings.skip
    if settings.bits > most:
        raise HashbenchError(f"skip_pca: {settings.bits} bits; these features have {most} components left")
    mean = features.mean(axis=0)
    _, _, axes = np.linalg.svd(features - mean, full_matrices=False)
    return mean, axes[settings.skip : settings.skip + settings.bits].T


METHOD = linear_method(Settings, _project)
