"""Random ranking: expected metrics of a random order (equal codes, all items tied), for comparison with any method."""

import numpy as np

from hashbench.learning.contract import Floats
from hashbench.learning.methods._shallow import ShallowSettings, linear_method


def _project(settings: ShallowSettings, features: Floats, seed: int) -> tuple[Floats, Floats]:  # noqa: ARG001
    width = features.shape[1]
    return np.zeros(width), np.zeros((width, settings.bits))


METHOD = linear_method(ShallowSettings, _project)
