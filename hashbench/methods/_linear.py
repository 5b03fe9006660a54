"""Linear hash functions: activations = (features - mean) @ projection."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hashbench.hasher import Floats, TrainingData
from hashbench.methods._method import Method
from hashbench.methods._shallow import HashFunction, ShallowSettings, shallow_method


@dataclass(frozen=True, eq=False)
class Linear(HashFunction):
    """activations = (features - mean) @ projection; mean [d], projection [d, bits]."""

    mean: Floats
    projection: Floats

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return len(self.mean)

    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d]."""
        return (features - self.mean) @ self.projection


def linear_method(
    settings: type[ShallowSettings], project: Callable[[Any, Floats, int], tuple[Floats, Floats]]
) -> Method:
    """The method whose ``project(settings, features, seed)`` returns the mean [d] and the projection [d, bits]."""

    def fit(chosen: Any, features: Floats, data: TrainingData) -> Linear:
        return Linear(*project(chosen, features, data.seed))

    return shallow_method(settings, fit, Linear)
