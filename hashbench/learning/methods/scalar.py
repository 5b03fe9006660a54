"""Scalar quantisation: each feature is one of 2^B equal steps between two percentiles of the training features.

At 8 bits a feature these are int8 vectors, at 4 int4. What lies outside the percentiles is at the last step.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.learning.contract import Arrays, Floats, TrainingData
from hashbench.learning.methods._dimensions import DimensionQuantiser, dimension_method
from hashbench.learning.methods._quantiser import QuantiserSettings


class Settings(QuantiserSettings):
    """``clipped`` is the percentage of the training values that lies outside the steps, half of it on each side."""

    clipped: float = Field(ge=0, lt=100)


@dataclass(frozen=True, eq=False)
class Scalar(DimensionQuantiser):
    """An item is rebuilt as ``low`` [d] + ``step`` [d] times its numbers."""

    low: Floats
    step: Floats  # 0 for a feature that is constant in training

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return len(self.low)

    def quantised(self, features: Floats) -> tuple[NDArray[np.uint8], Arrays]:
        """The numbers of the nearest steps, and nothing beside."""
        steps = np.divide(features - self.low, self.step, out=np.zeros(features.shape), where=self.step > 0)
        numbers = np.clip(np.rint(steps), 0, len(self.levels) - 1).astype(np.uint8)
        return numbers, {}

    def terms(self, items: Arrays) -> tuple[Floats, Floats]:
        """The terms of the distance to the rebuilt item, without those of the query alone."""
        n = len(items["codes"])
        if self.metric == "ip":
            return np.full(n, -1.0), np.zeros(n)
        return np.full(n, -2.0), np.square(self.step * self.numbers_of(items)).sum(axis=1)

    def vectors(self, features: Floats) -> Floats:
        """The queries, for l2 from the lowest step, times the steps."""
        if self.metric != "ip":
            features = features - self.low
        return features * self.step


def _fit(settings: Settings, features: Floats, bits: int, data: TrainingData) -> Scalar:
    low, high = np.percentile(features, [settings.clipped / 2, 100 - settings.clipped / 2], axis=0)
    levels = np.arange(1 << bits, dtype=np.float64)
    return Scalar(levels, low, (high - low) / levels[-1], metric=np.array(data.metric))


METHOD = dimension_method(Settings, _fit, Scalar)
