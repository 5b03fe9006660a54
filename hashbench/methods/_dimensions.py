"""Quantisation of each dimension alone: B bits, 1 to 8, for each feature, after a rotation if there is one."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.contract import Arrays, Floats, TrainingData
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram.estimates import estimated, pack_numbers
from hashbench.histogram.ranking import Distances
from hashbench.methods._method import Method
from hashbench.methods._quantiser import QuantiserSettings, QuantisingFunction, QuantisingHasher
from hashbench.methods._shallow import shallow_method

MOST_BITS = 8  # of a dimension: a number fits a byte


@dataclass(frozen=True, eq=False)
class DimensionQuantiser(QuantisingFunction):
    """A dimension of an item is the number of a level; the levels are whole numbers, the same in all dimensions."""

    levels: Floats  # [2^B]

    @property
    def bits(self) -> int:
        """B, the bits of a dimension."""
        return len(self.levels).bit_length() - 1

    @abstractmethod
    def quantised(self, features: Floats) -> tuple[NDArray[np.uint8], Floats, Floats]:
        """The numbers [n, d] of items, and by what their estimates are scaled [n] and what is added [n]."""

    @abstractmethod
    def vectors(self, features: Floats) -> Floats:
        """The queries [q, d] as they are multiplied with the levels."""

    def of_items(self, features: Floats) -> Arrays:
        """The packed numbers, and by what the estimates are scaled and what is added, in float32."""
        numbers, scale, added = self.quantised(features)
        packed = pack_numbers(numbers, self.bits)
        return {"codes": packed, "scale": scale.astype(np.float32), "added": added.astype(np.float32)}

    def of_queries(self, features: Floats) -> Arrays:
        """The vectors of the queries."""
        return {"vectors": self.vectors(features)}

    def distances(self, queries: Arrays, items: Arrays) -> Distances:
        return estimated(queries["vectors"], items["codes"], self.levels, items["scale"], items["added"])


def dimension_method(
    settings: type[QuantiserSettings],
    fit: Callable[[Any, Floats, int, TrainingData], DimensionQuantiser],
    function: type[DimensionQuantiser],
    *identity: str,
) -> Method:
    """The method whose ``fit(settings, features, B, data)`` returns a ``function`` of B bits a dimension."""

    def fitted(chosen: QuantiserSettings, features: Floats, data: TrainingData) -> DimensionQuantiser:
        _require(chosen, features.shape[1], len(features))
        return fit(chosen, features, chosen.bits // features.shape[1], data)

    more = ("query", *identity)
    return shallow_method(settings, fitted, function, identity=more, hasher=QuantisingHasher, require=_require)


def _require(settings: QuantiserSettings, n_features: int, n_examples: int) -> None:  # noqa: ARG001
    if settings.bits % n_features or settings.bits > MOST_BITS * n_features:
        advice = f"a feature has 1 to {MOST_BITS} whole bits: {n_features}, {2 * n_features}, ... or {8 * n_features}"
        raise HashbenchError(f"{settings.bits} bits of {n_features} features: {advice} bits")
