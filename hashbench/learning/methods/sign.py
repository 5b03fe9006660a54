"""Signs of the features themselves, of the first ``bits``: what embeddings called "binary" are.

With vectors whose first dimensions are vectors of their own (Matryoshka), fewer bits are a shorter vector.
"""

from typing import Literal

import numpy as np

from hashbench.learning.contract import Floats
from hashbench.learning.methods._shallow import (
    ShallowSettings,
    linear_method,
    random_rotation,
    require_bits_of_features,
)


class Settings(ShallowSettings):
    """``centre`` is what is subtracted first, of the training features; ``rotation`` turns the kept dimensions."""

    centre: Literal["none", "mean", "median"]
    rotation: Literal["none", "random"]


def _project(settings: Settings, features: Floats, seed: int) -> tuple[Floats, Floats]:
    n_features = features.shape[1]
    projection = np.eye(n_features, settings.bits)
    if settings.rotation != "none":
        projection = projection @ random_rotation(settings.bits, seed)
    if settings.centre == "none":
        return np.zeros(n_features), projection
    middle = np.mean if settings.centre == "mean" else np.median
    return np.asarray(middle(features, axis=0)), projection


METHOD = linear_method(Settings, _project, require=require_bits_of_features)
