"""Linear hash functions: activations = (features - mean) @ projection + bias."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hashbench.contract import Floats, TrainingData
from hashbench.foundation.progress import bar
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


def columns(method: str, vectors: Iterable[Floats], bits: int, *, shown: bool) -> Floats:
    """The vectors [d] of all bits as columns, float64[d, bits], with a progress bar while they are fitted."""
    with bar(method, "bit", bits, shown=shown) as progress:
        found = []
        for vector in vectors:
            found.append(vector)
            progress.update(1)
    return np.stack(found, axis=1)


def linear_method(
    settings: type[ShallowSettings], project: Callable[[Any, Floats, int], tuple[Floats, Floats]]
) -> Method:
    """The method whose ``project(settings, features, seed)`` returns the mean [d] and the projection [d, bits]."""

    def fit(chosen: Any, features: Floats, data: TrainingData) -> Linear:
        return Linear(*project(chosen, features, data.seed))

    return shallow_method(settings, fit, Linear)
