"""Shallow methods: hash functions of features that are fitted to all training examples at once, without a network."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from hashbench.contract import (
    BinaryHasher,
    BitSettings,
    DamagedHasher,
    Floats,
    SavedHasher,
    TrainingData,
    TrainingFailed,
)
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic
from hashbench.methods._method import Method

FILE = "hasher.npz"
AVERAGE = "average_item"  # the name of that array in the file; those of the hash function have other names
BLOCK = 2000  # items that are encoded at a time: 8 MB of 512 features, so that they stay in the cache


class ShallowSettings(BitSettings):
    """The settings that every shallow method has: its file must name the features that it hashes.

    ``normalise`` "unit_norm" subtracts the average training item from each item and divides it by its norm.
    """

    features: str
    normalise: Literal["none", "unit_norm"] = "none"


@dataclass(frozen=True, eq=False)
class HashFunction(ABC):
    """The hash functions of all bits. In a subclass (a frozen dataclass) each field is an array or None, to be saved.

    ``weights`` float64[bits] are learned weights of the bits, each 0 or more. With them, codes are compared by the
    weighted Hamming distance too. Most methods learn none.
    """

    weights: Floats | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features of an item."""

    @abstractmethod
    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d]: a bit is 1 if its activation is above 0.

        The activations of an item must not depend on the other items.
        """


def as_features(items: NDArray[Any], value_max: float) -> Floats:
    """``items`` as float64[n, d], one row each, divided by ``value_max`` so that the largest possible value is 1."""
    features = items.reshape(len(items), -1).astype(np.float64)
    if value_max != 1:
        features /= value_max
    return features


def normalised(features: Floats, average: Floats | None) -> Floats:
    """``features`` [n, d] minus ``average`` [d], each row divided by its norm; as they are if ``average`` is None.

    The average itself stays at 0.
    """
    if average is None:
        return features
    centred = features - average
    return centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)


@dataclass(frozen=True, eq=False)
class ShallowHasher(BinaryHasher):
    """The hasher of a shallow method; the items that it takes are divided by ``value_max``.

    ``average`` float64[d] is the average training item if items are scaled to unit norm, else None.
    """

    function: HashFunction
    value_max: float
    average: Floats | None = None

    @property
    def bit_weights(self) -> Floats | None:
        """The learned weights of the bits, float64[bits]; None if there are none."""
        return self.function.weights

    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:  # noqa: ARG002
        """Activations float32[n, bits], computed in blocks of items to limit the memory."""
        blocks = np.array_split(items, max(1, len(items) // BLOCK))
        return np.concatenate([self._activations(block) for block in blocks])

    def _activations(self, items: NDArray[Any]) -> NDArray[np.float32]:
        features = as_features(items, self.value_max)
        if features.shape[1] != self.function.n_features:
            raise HashbenchError(
                f"items have {features.shape[1]} values each, the hasher takes {self.function.n_features}"
            )
        return self.function.activations(normalised(features, self.average)).astype(np.float32)

    def save(self, folder: Path) -> None:
        """Writes hasher.npz: the arrays of the hash function and the name of its type."""
        arrays = {each.name: getattr(self.function, each.name) for each in fields(self.function)}
        arrays = {name: array for name, array in {**arrays, AVERAGE: self.average}.items() if array is not None}
        with atomic(folder / FILE) as temporary, temporary.open("wb") as file:
            np.savez(file, function=type(self.function).__name__, value_max=self.value_max, **arrays)


def shallow_method(
    settings: type[ShallowSettings],
    fit: Callable[[Any, Floats, TrainingData], HashFunction],
    *functions: type[HashFunction],
    identity: tuple[str, ...] = (),
    supervision: Literal["none", "labels", "relevance"] = "none",
) -> Method:
    """The method whose hash functions are ``fit(settings, features, data)``.

    Args:
        settings: The type of its hyper-parameters.
        fit: The function that fits; ``features`` float64[n, d] are the items of ``data``, divided by ``value_max``, and
            scaled to unit norm if the settings say so.
        functions: The types of hash functions that ``fit`` may return; each is a dataclass of arrays.
        identity: The hyper-parameters that name its runs, besides ``bits`` and ``features``.
        supervision: What it learns from: nothing; class labels; or relevance, which labels or distances define.
    """

    def fitted(chosen: Any, data: TrainingData) -> ShallowHasher:
        features = as_features(data.items, data.value_max)
        require_usable(features)
        average = features.mean(axis=0) if chosen.normalise == "unit_norm" else None
        return ShallowHasher(fit(chosen, normalised(features, average), data), data.value_max, average)

    def load(chosen: ShallowSettings, stored: SavedHasher) -> ShallowHasher:  # noqa: ARG001
        return _load(stored.folder / FILE, functions)

    return Method(settings, ("bits", "features", *identity), fitted, load, needs_torch=False, supervision=supervision)


def require_usable(features: Floats) -> None:
    """Raises HashbenchError if a feature is not finite, and TrainingFailed if all training examples are equal."""
    unusable = ~np.isfinite(features).all(axis=1)
    if unusable.any():
        raise HashbenchError(
            f"features: {unusable.sum()} of {len(features)} training examples have a value that is NaN or infinite "
            f"(the first is example {unusable.argmax()}): methods need finite features"
        )
    if len(features) < 2 or (features == features[0]).all():
        raise TrainingFailed(f"the {len(features)} training examples have equal features: two that differ are needed")


def require_bits(bits: int, most: int, of_what: str) -> None:
    """Raises HashbenchError for more ``bits`` than ``most``, the number ``of_what`` that the method makes bits of.

    No seed changes that, so it is no TrainingFailed, which would be stored as the result of the run.
    """
    if bits > most:
        raise HashbenchError(f"{bits} bits from {most} {of_what}: at most {most} bits")


def _load(path: Path, functions: tuple[type[HashFunction], ...]) -> ShallowHasher:
    """The hasher that ``save`` wrote; raises DamagedHasher if its file is missing or damaged."""
    by_name = {function.__name__: function for function in functions}
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            function = by_name[str(archive["function"])]
            arrays = {each.name: archive[each.name] for each in fields(function) if each.name in archive}
            average = archive[AVERAGE] if AVERAGE in archive else None  # noqa: SIM401  (an NpzFile reads at get)
            return ShallowHasher(function(**arrays), float(archive["value_max"]), average)
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise DamagedHasher(f"{path}: not a whole hasher ({error})") from None
