"""Linear hash functions: activations = (features - mean) @ projection + bias."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hashbench.hasher import Floats, TrainingData
from hashbench.methods._kernel import Kernel
from hashbench.methods._method import Method
from hashbench.methods._shallow import HashFunction, ShallowSettings, shallow_method


@dataclass(frozen=True, eq=False)
class Linear(HashFunction):
    """activations = (features - mean) @ projection + bias; mean [d], projection [d, bits], bias [bits] or None."""

    mean: Floats
    projection: Floats
    bias: Floats | None = None

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return len(self.mean)

    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d]."""
        products: Floats = (features - self.mean) @ self.projection
        return products if self.bias is None else products + self.bias


@dataclass(frozen=True, eq=False)
class KernelLinear(Linear):
    """Linear functions of the RBF responses of an item to ``anchors`` [m, d]; mean [m], projection [m, bits]."""

    anchors: Floats = field(kw_only=True)
    bandwidth: Floats = field(kw_only=True)

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return self.anchors.shape[1]

    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d]."""
        return super().activations(Kernel(self.anchors, self.bandwidth)(features))


def linear_method(
    settings: type[ShallowSettings], project: Callable[[Any, Floats, int], tuple[Floats, Floats]]
) -> Method:
    """The method whose ``project(settings, features, seed)`` returns the mean [d] and the projection [d, bits]."""

    def fit(chosen: Any, features: Floats, data: TrainingData) -> Linear:
        return Linear(*project(chosen, features, data.seed))

    return shallow_method(settings, fit, Linear)
