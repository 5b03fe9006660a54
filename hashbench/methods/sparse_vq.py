"""VQ: the buckets are d centroids of k-means on a metric embedding, those of an item its k nearest.

Jeong and Song 2018, section 6. Their code finds the centroids among the items that are searched, so a search among the
queries has centroids of its own.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.config import derive_seed
from hashbench.errors import HashbenchError, one_line
from hashbench.files import write_text
from hashbench.hasher import SavedHasher, TrainingData
from hashbench.methods._method import Method
from hashbench.methods._sparse import BASE, IDENTITY, SparseSettings, metric_network
from hashbench.sparse import quantise
from hashbench.sparse.hasher import OnBase
from hashbench.sparse.quantise import Centroids

FILE, CENTROIDS = "hasher.json", "centroids.npz"


class Settings(SparseSettings):
    """``fit_on``: whose embeddings k-means sees; ``n_init``: how many starts it chooses from."""

    fit_on: Literal["searched", "train"]
    n_init: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class Quantised(OnBase):
    """The centroids that say the buckets; None until a set is searched that has its own."""

    settings: Settings
    seed: int
    centroids: Centroids | None = None

    def searching(self, embeddings: NDArray[np.float32]) -> Self:
        """With the centroids of ``embeddings``, unless it has those of the training examples."""
        return self if self.settings.fit_on == "train" else self.fitted(embeddings)

    def fitted(self, embeddings: NDArray[np.float32]) -> Self:
        """With the centroids of ``embeddings`` [n, m]."""
        settings = self.settings
        return replace(self, centroids=quantise.fit(embeddings, settings.d, self.seed, n_init=settings.n_init))

    def activate(self, items: NDArray[Any], embeddings: NDArray[np.float32]) -> NDArray[np.floating]:  # noqa: ARG002
        """Minus the squared distance to each centroid."""
        assert self.centroids is not None, "what is searched has not been said"
        return self.centroids.activations(embeddings)

    def save(self, folder: Path) -> None:
        """Writes the seed of the centroids, and those of the training examples."""
        if self.centroids is not None:
            self.centroids.save(folder / CENTROIDS)
        write_text(folder / FILE, json.dumps({"seed": self.seed}) + "\n")


def _fit(settings: Settings, data: TrainingData) -> Quantised:
    base = metric_network(data.base)
    hasher = Quantised(base, settings.k, settings, derive_seed(data.seed, "centroids"))
    return hasher.fitted(base.embed(data.items)) if settings.fit_on == "train" else hasher


def _load(settings: Settings, stored: SavedHasher) -> Quantised:
    try:
        seed = int(json.loads((stored.folder / FILE).read_text())["seed"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HashbenchError(f"{stored.folder / FILE}: {one_line(error)}: run hashbench train again") from None
    centroids = Centroids.load(stored.folder / CENTROIDS) if settings.fit_on == "train" else None
    return Quantised(metric_network(stored.base), settings.k, settings, seed, centroids)


METHOD = Method(Settings, (*IDENTITY, "fit_on"), _fit, _load, needs_torch=True, supervision="labels", base=BASE)
