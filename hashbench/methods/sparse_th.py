"""Th: the buckets of an item are the k largest dimensions of its metric embedding (Jeong and Song 2018, section 6)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.contract import SavedHasher, TrainingData
from hashbench.foundation.files import write_text
from hashbench.methods._method import Method
from hashbench.methods._sparse import BASE, IDENTITY, SparseSettings, metric_network
from hashbench.sparse.hasher import BucketHasher


@dataclass(frozen=True)
class TopKHasher(BucketHasher):
    """The activations are the embedding itself, with its signs: a large negative dimension is not a bucket."""

    def activate(self, items: NDArray[Any], embeddings: NDArray[np.float32]) -> NDArray[np.float32]:  # noqa: ARG002
        """The embeddings."""
        return embeddings

    def save(self, folder: Path) -> None:
        """Writes an empty hasher.json: there is nothing to save, because the base is saved by its own run."""
        write_text(folder / "hasher.json", "{}\n")


def _fit(settings: SparseSettings, data: TrainingData) -> TopKHasher:
    return TopKHasher(metric_network(data.base), settings.k)


def _load(settings: SparseSettings, stored: SavedHasher) -> TopKHasher:
    return TopKHasher(metric_network(stored.base), settings.k)


METHOD = Method(SparseSettings, IDENTITY, _fit, _load, needs_torch=True, supervision="labels", base=BASE)
