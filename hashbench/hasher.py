"""What a method is given, and what it gives: settings and training examples in, a hasher out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.codes import MAX_BITS
from hashbench.config import Strict
from hashbench.parallel import ALONE, USUAL, ComputeOptions, ProcessGroup
from hashbench.relevance.distances import DistanceRelevance
from hashbench.relevance.labels import Labels


class CodeSettings(Strict):
    """What the settings of every method have: ``size``, the size of the codes as the names of runs say it."""

    @property
    def size(self) -> str:
        """Such as ``32b``."""
        raise NotImplementedError


class BitSettings(CodeSettings):
    """What every method of binary codes declares."""

    bits: int = Field(ge=1, le=MAX_BITS)

    @property
    def size(self) -> str:
        """The number of bits."""
        return f"{self.bits}b"


class Hasher(Protocol):
    """A fitted hash function."""

    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:
        """Activations float32[n, bits] of ``items`` (as the data set stores them); a bit is activation > 0."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the hasher into ``folder``, whole or not at all."""
        ...


@runtime_checkable
class SparseHasher(Protocol):
    """What puts items into buckets, and embeds them where the items of a bucket are put in order.

    ``k`` is how many buckets an item stands in; 0 where there are none, and a query looks at every item.
    """

    @property
    def k(self) -> int:
        """Buckets an item stands in."""
        ...

    def embed(self, items: NDArray[Any]) -> NDArray[np.float32]:
        """Embeddings float32[n, m] of ``items`` (as the data set stores them)."""
        ...

    def searching(self, embeddings: NDArray[np.float32]) -> "SparseHasher":
        """The hasher for a search among the items of these embeddings [n, m]; most do not look at them."""
        ...

    def activate(self, items: NDArray[Any], embeddings: NDArray[np.float32]) -> NDArray[np.floating]:
        """Activations float[n, d] of ``items``, which have these ``embeddings``; the k largest are the buckets."""
        ...

    def save(self, folder: Path) -> None:
        """Writes into ``folder``, whole or not at all, what the base's own run does not hold."""
        ...


@dataclass(frozen=True)
class TrainingData:
    """Everything a method may use to fit: the training examples, never the queries."""

    items: NDArray[Any]  # uint8 images [n, H, W, C] or float32 features [n, d]
    labels: Labels  # class ids [n], or multi-hot [n, labels]
    value_max: float  # the item value that means 1.0
    seed: int
    folder: Path  # for checkpoints and the training log
    device: str = "auto"
    progress: bool = False
    checkpoint_every_s: float = 10.0
    group: ProcessGroup = ALONE  # of this process, where several fit together; only the first writes
    compute: ComputeOptions = USUAL
    weights: str | None = None  # a file of pretrained weights, where it is not the official one in its place
    base: Hasher | SparseHasher | None = None  # trained before, and what this one starts from
    relevance: DistanceRelevance | None = None  # of the training examples to each other, where labels do not say it


@dataclass(frozen=True)
class SavedHasher:
    """Where a fitted hasher was saved."""

    folder: Path
    device: str = "auto"
    base: Hasher | SparseHasher | None = None  # what it started from
