"""Quantisation of each dimension alone: B bits, 1 to 8, for each feature, after a rotation if there is one."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.learning.contract import Arrays, Floats, TrainingData
from hashbench.learning.methods._method import Method
from hashbench.learning.methods._quantiser import QuantiserSettings, QuantisingFunction, QuantisingHasher
from hashbench.learning.methods._shallow import shallow_method
from hashbench.scoring.histogram.estimates import MOST_BITS, estimated, pack_numbers, pack_tight, unpack_tight
from hashbench.scoring.histogram.ranking import Distances

DECODED = 1 << 22  # numbers of items that are decoded at a time


@dataclass(frozen=True, eq=False)
class DimensionQuantiser(QuantisingFunction):
    """A dimension of an item is the number of a level; the levels are whole numbers, the same in all dimensions."""

    levels: Floats  # [2^B]

    @property
    def bits(self) -> int:
        """B, the bits of a dimension."""
        return len(self.levels).bit_length() - 1

    @property
    @abstractmethod
    def n_features(self) -> int:
        """d, the number of features of an item."""

    @abstractmethod
    def quantised(self, features: Floats) -> tuple[NDArray[np.uint8], Arrays]:
        """The numbers [n, d] of items with ``features`` [n, d], and the factors that are stored beside, float32[n]."""

    @abstractmethod
    def terms(self, items: Arrays) -> tuple[Floats, Floats]:
        """The factors by which the estimates of stored ``items`` are scaled [n], and the numbers added to them [n]."""

    def numbers_of(self, items: Arrays) -> NDArray[np.uint8]:
        """The numbers [n, d] of stored ``items``."""
        return unpack_tight(items["codes"], self.bits, self.n_features)

    @abstractmethod
    def vectors(self, features: Floats) -> Floats:
        """The queries [q, d] as they are multiplied with the levels."""

    def of_items(self, features: Floats) -> Arrays:
        """The numbers, packed, and the factors in float32: ``bytes_per_item`` in all."""
        numbers, factors = self.quantised(features)
        return {"codes": pack_tight(numbers, self.bits)} | factors

    def of_queries(self, features: Floats) -> Arrays:
        """The vectors of the queries."""
        return {"vectors": self.vectors(features)}

    def prepared(self, items: Arrays) -> Arrays:
        """The packed numbers as estimates take them, and the terms of each item."""
        n_items = len(items["codes"])
        scale = np.empty(n_items, np.float32)
        added = np.empty(n_items, np.float32)
        packed = np.empty((n_items, -(-self.n_features // (8 // self.bits))), np.uint8)
        for rows in slices(n_items, DECODED // self.n_features + 1):
            block = {name: array[rows] for name, array in items.items()}
            # where a byte holds whole numbers, both ways to pack are one
            if 8 % self.bits == 0:
                packed[rows] = block["codes"]
            else:
                packed[rows] = pack_numbers(self.numbers_of(block), self.bits)
            scale[rows], added[rows] = self.terms(block)
        return {"packed": packed, "scale": scale, "added": added}

    def distances(self, queries: Arrays, prepared: Arrays) -> Distances:
        return estimated(queries["vectors"], prepared["packed"], self.levels, prepared["scale"], prepared["added"])


def dimension_method(
    settings: type[QuantiserSettings],
    fit: Callable[[Any, Floats, int, TrainingData], DimensionQuantiser],
    function: type[DimensionQuantiser],
    *identity: str,
) -> Method:
    """The method whose ``fit(settings, features, B, data)`` returns a ``function`` of B bits a dimension."""

    def fitted(chosen: QuantiserSettings, features: Floats, data: TrainingData) -> DimensionQuantiser:
        return fit(chosen, features, chosen.bits // features.shape[1], data)

    identity = ("query", *identity)
    return shallow_method(settings, fitted, function, identity=identity, hasher=QuantisingHasher, require=_require)


def _require(settings: QuantiserSettings, n_features: int, n_examples: int) -> None:  # noqa: ARG001
    if settings.bits % n_features or settings.bits > MOST_BITS * n_features:
        advice = f"a feature has 1 to {MOST_BITS} whole bits: {n_features}, {2 * n_features}, ... or {8 * n_features}"
        raise HashbenchError(f"{settings.bits} bits of {n_features} features: {advice} bits")
