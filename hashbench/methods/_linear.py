"""The linear hasher of the classical methods: activations = (features - mean) @ projection."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError
from hashbench.files import atomic
from hashbench.hasher import BinaryHasher, BitSettings, SavedHasher, TrainingData
from hashbench.methods._method import Method

Floats = NDArray[np.float64]
FILE = "hasher.npz"


class LinearSettings(BitSettings):
    """The settings that every classical method has: its file must name the features that it hashes."""

    features: str


def as_features(items: NDArray[Any], value_max: float) -> Floats:
    """``items`` as float64[n, d], one row each, divided by ``value_max`` so that the largest possible value is 1."""
    return items.reshape(len(items), -1).astype(np.float64) / value_max


@dataclass(frozen=True)
class LinearHasher(BinaryHasher):
    """activations = (features - mean) @ projection; mean [d], projection [d, bits]."""

    mean: Floats
    projection: Floats
    value_max: float

    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:  # noqa: ARG002
        """Activations float32[n, bits], computed in blocks of about 10,000 items to limit the memory."""
        blocks = np.array_split(items, max(1, len(items) // 10_000))
        return np.concatenate([self._activations(block) for block in blocks])

    def _activations(self, items: NDArray[Any]) -> NDArray[np.float32]:
        features = as_features(items, self.value_max)
        if features.shape[1] != len(self.mean):
            raise HashbenchError(f"items have {features.shape[1]} values each, the hasher takes {len(self.mean)}")
        return ((features - self.mean) @ self.projection).astype(np.float32)

    def save(self, folder: Path) -> None:
        """Writes hasher.npz."""
        with atomic(folder / FILE) as temporary, temporary.open("wb") as file:
            np.savez(file, mean=self.mean, projection=self.projection, value_max=self.value_max)


def load(settings: LinearSettings, stored: SavedHasher) -> LinearHasher:  # noqa: ARG001
    """The hasher that ``save`` wrote; raises HashbenchError if its file is missing or damaged."""
    path = stored.folder / FILE
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return LinearHasher(archive["mean"], archive["projection"], float(archive["value_max"]))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise HashbenchError(f"{path}: not a whole hasher ({error}): run hashbench train again") from None


def linear_method(
    settings: type[LinearSettings], project: Callable[[Any, Floats, int], tuple[Floats, Floats]]
) -> Method:
    """The method whose ``project(settings, features, seed)`` returns the mean [d] and the projection [d, bits]."""

    def fit(chosen: Any, data: TrainingData) -> LinearHasher:
        mean, projection = project(chosen, as_features(data.items, data.value_max), data.seed)
        return LinearHasher(mean, projection, data.value_max)

    return Method(settings, ("bits", "features"), fit, load, needs_torch=False)
