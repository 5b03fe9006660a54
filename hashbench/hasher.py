"""What a method is given, and what it gives: settings and training examples in, a hasher out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.affinity import Labels
from hashbench.codes import MAX_BITS
from hashbench.config import Strict
from hashbench.processes import ALONE, USUAL, Compute, Place


class BitSettings(Strict):
    """What every method of binary codes declares."""

    bits: int = Field(ge=1, le=MAX_BITS)


class Hasher(Protocol):
    """A fitted hash function."""

    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:
        """Activations float32[n, bits] of ``items`` (as the data set stores them); a bit is activation > 0."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the hasher into ``folder``, whole or not at all."""
        ...


@dataclass(frozen=True)
class Fit:
    """Everything a method may use to fit: the training examples, never the queries."""

    items: NDArray[Any]  # uint8 images [n, H, W, C] or float32 features [n, d]
    labels: Labels  # class ids [n], or multi-hot [n, labels]
    value_max: float  # the item value that means 1.0
    seed: int
    folder: Path  # for checkpoints and the training log
    device: str = "auto"
    progress: bool = False
    checkpoint_every_s: float = 10.0
    place: Place = ALONE  # of this process, where several fit together; only the first writes
    compute: Compute = USUAL
    weights: str | None = None  # a file of pretrained weights, where it is not the official one in its place
