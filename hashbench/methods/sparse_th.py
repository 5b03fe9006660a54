"""Th: the k largest dimensions of a metric embedding are its buckets (Jeong and Song 2018, section 6)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.files import write_text
from hashbench.hasher import SavedHasher, TrainingData
from hashbench.methods._method import Method
from hashbench.methods._sparse import BASE, IDENTITY, SparseSettings, metric_network
from hashbench.sparse.hasher import OnBase


@dataclass(frozen=True)
class Largest(OnBase):
    """The signed dimensions of the embedding, as they are: the largest, not those of largest magnitude."""

    def activate(self, items: NDArray[Any], embeddings: NDArray[np.float32]) -> NDArray[np.float32]:  # noqa: ARG002
        """The embeddings."""
        return embeddings

    def save(self, folder: Path) -> None:
        """Writes that there is nothing to keep but the base."""
        write_text(folder / "hasher.json", "{}\n")


def _fit(settings: SparseSettings, data: TrainingData) -> Largest:
    return Largest(metric_network(data.base), settings.k)


def _load(settings: SparseSettings, stored: SavedHasher) -> Largest:
    return Largest(metric_network(stored.base), settings.k)


METHOD = Method(SparseSettings, IDENTITY, _fit, _load, needs_torch=True, supervision="labels", base=BASE)
