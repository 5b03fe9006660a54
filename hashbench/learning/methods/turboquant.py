"""TurboQuant for the least squared error: a random rotation, and the best levels of a normal value in each dimension.

(Zandieh et al. 2025, algorithm 1.) The levels are fitted to no data. The norm of an item is stored beside its code.
"""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from hashbench.learning.contract import Arrays, Floats, TrainingData
from hashbench.learning.methods._dimensions import DimensionQuantiser, dimension_method
from hashbench.learning.methods._quantiser import QuantiserSettings
from hashbench.learning.methods._shallow import random_rotation

UNIT = 2.0**-16  # of the levels, which are whole multiples of it


class Settings(QuantiserSettings):
    """``centre`` is what is subtracted first: nothing, as in the paper, or the mean of the training features."""

    centre: Literal["none", "mean"]

    n_factors: ClassVar[int] = 1


@dataclass(frozen=True, eq=False)
class TurboQuant(DimensionQuantiser):
    """The centre [d] and the rotation [d, d] by columns; levels are in ``UNIT`` of |r| / sqrt(d), r the turned item."""

    centre: Floats
    rotation: Floats

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return len(self.centre)

    def quantised(self, features: Floats) -> tuple[NDArray[np.uint8], Arrays]:
        """The numbers of the nearest levels, and |r| / sqrt(d)."""
        r = (features - self.centre) @ self.rotation
        stored = (np.linalg.norm(r, axis=1) / np.sqrt(self.n_features)).astype(np.float32)
        deviation = stored.astype(np.float64)
        normal = np.divide(r, deviation[:, None], out=np.zeros(r.shape), where=deviation[:, None] > 0)
        boundaries = (self.levels[1:] + self.levels[:-1]) / 2 * UNIT
        return np.searchsorted(boundaries, normal).astype(np.uint8), {"deviation": stored}

    def terms(self, items: Arrays) -> tuple[Floats, Floats]:
        """The terms of the distance to the rebuilt item, without those of the query alone."""
        scale = items["deviation"].astype(np.float64) * UNIT
        if self.metric == "ip":
            return -scale, np.zeros(len(scale))
        return -2 * scale, np.square(scale) * np.square(self.levels[self.numbers_of(items)]).sum(axis=1)

    def vectors(self, features: Floats) -> Floats:
        """The turned queries, for l2 from the centre."""
        if self.metric != "ip":
            features = features - self.centre
        return features @ self.rotation


@cache
def normal_levels(bits: int) -> tuple[float, ...]:
    """The 2^bits levels with the least mean squared error for a standard normal value (Lloyd 1957, Max 1960)."""
    n_positive = 1 << (bits - 1)
    # of many levels the best have the density of a normal value with the variance 3 (Panter, Dite 1951)
    levels = np.sqrt(3) * scipy.special.ndtri(0.5 + (np.arange(n_positive) + 0.5) / (2 * n_positive))
    for _ in range(20_000):
        bounds = np.concatenate([[0.0], (levels[1:] + levels[:-1]) / 2, [np.inf]])
        density = np.exp(-(bounds**2) / 2) / np.sqrt(2 * np.pi)
        before = levels
        levels = -np.diff(density) / -np.diff(scipy.special.ndtr(-bounds))
        if np.abs(levels - before).max() < 1e-9:
            break
    return (*-levels[::-1], *levels)


def _fit(settings: Settings, features: Floats, bits: int, data: TrainingData) -> TurboQuant:
    n_features = features.shape[1]
    centre = np.zeros(n_features)
    if settings.centre == "mean":
        centre = features.mean(axis=0)
    levels = np.rint(np.array(normal_levels(bits)) / UNIT)
    return TurboQuant(levels, centre, random_rotation(n_features, data.seed), metric=np.array(data.metric))


METHOD = dimension_method(Settings, _fit, TurboQuant)
