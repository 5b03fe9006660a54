"""Random ranking: the expected metrics of the database in a random order, the floor that every method must be above.

All items get the same code, so all orders of the database are equally likely. Metrics are means over the orders of tied
items (McSherry, Najork 2008; He et al. 2018), so they are the closed forms of a random order, not a sample.
"""

import numpy as np

from hashbench.contract import Floats
from hashbench.methods._shallow import ShallowSettings, linear_method


def _project(settings: ShallowSettings, features: Floats, seed: int) -> tuple[Floats, Floats]:  # noqa: ARG001
    width = features.shape[1]
    return np.zeros(width), np.zeros((width, settings.bits))


METHOD = linear_method(ShallowSettings, _project)
