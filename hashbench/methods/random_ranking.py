"""Random ranking: the expected metrics of the database in a random order, the floor that every method must be above.

All items get the same code, so all orders of the database are equally likely. Metrics are means over the orders of tied
items (McSherry, Najork 2008; He et al. 2018), so they are the closed forms of a random order, not a sample.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.contract import Floats, TrainingData
from hashbench.methods._shallow import HashFunction, ShallowSettings, shallow_method


@dataclass(frozen=True, eq=False)
class Constant(HashFunction):
    """activations = 0 for each item: the same code. ``width`` int64[] is its number of features, ``bits`` int64[]."""

    width: NDArray[np.int64]
    bits: NDArray[np.int64]

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return int(self.width)

    def activations(self, features: Floats) -> Floats:
        """Zeros float64[n, bits]."""
        return np.zeros((len(features), int(self.bits)))


def _fit(settings: ShallowSettings, features: Floats, data: TrainingData) -> Constant:  # noqa: ARG001
    return Constant(np.asarray(features.shape[1]), np.asarray(settings.bits))


METHOD = shallow_method(ShallowSettings, _fit, Constant)
