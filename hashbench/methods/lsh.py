"""LSH: signs of random projections (Charikar 2002); the baseline that learns nothing."""

import numpy as np

from hashbench.contract import Floats
from hashbench.methods._shallow import ShallowSettings, linear_method


class Settings(ShallowSettings):
    """``centre`` is whether the mean of the training features is subtracted first."""

    centre: bool


def _project(settings: Settings, features: Floats, seed: int) -> tuple[Floats, Floats]:
    width = features.shape[1]
    mean = features.mean(axis=0) if settings.centre else np.zeros(width)
    return mean, np.random.default_rng(seed).standard_normal((width, settings.bits))


METHOD = linear_method(Settings, _project)
