"""VQ: the buckets are d centroids of k-means on a metric embedding; an item is in those of its k nearest centroids.

As in the code of Jeong and Song (2018, section 6), they are those of the searched items: other items have others.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.config import derive_seed, json_object
from hashbench.foundation.errors import retold
from hashbench.foundation.files import write_text
from hashbench.learning.contract import DamagedHasher, SavedHasher, TrainingData
from hashbench.learning.methods.exhaustive_search import SparseSettings, sparse_method
from hashbench.learning.sparse import quantise
from hashbench.learning.sparse.hasher import BucketHasher, ExhaustiveSearch
from hashbench.learning.sparse.quantise import Centroids

FILE = "hasher.json"


class Settings(SparseSettings):
    """``n_init`` is how many starts k-means keeps the best of."""

    fit_on: Literal["searched"]  # the set whose embeddings are clustered; a part of the name of each run
    n_init: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class CentroidHasher(BucketHasher):
    """The centroids that define the buckets: None until a set is searched."""

    settings: Settings
    seed: int
    centroids: Centroids | None = None

    def searching(self, embeddings: NDArray[np.float32]) -> Self:
        """This hasher with the centroids of ``embeddings`` [n, m]."""
        settings = self.settings
        return replace(self, centroids=quantise.fit(embeddings, settings.d, self.seed, n_init=settings.n_init))

    def activate(self, items: NDArray[Any], embeddings: NDArray[np.float32]) -> NDArray[np.floating]:  # noqa: ARG002
        """Minus the squared distance to each centroid."""
        assert self.centroids is not None, "searching() has to set the centroids first"
        return self.centroids.activations(embeddings)

    def save(self, folder: Path) -> None:
        """Writes the seed of k-means."""
        write_text(folder / FILE, json.dumps({"seed": self.seed}) + "\n")


def _fit(settings: Settings, data: TrainingData, base: ExhaustiveSearch) -> CentroidHasher:
    return CentroidHasher(base, settings.k, settings, derive_seed(data.seed, "centroids"))


def _load(settings: Settings, stored: SavedHasher, base: ExhaustiveSearch) -> CentroidHasher:
    path = stored.folder / FILE
    with retold(lambda cause: f"{path}: {cause}", Exception, by=DamagedHasher):
        seed = int(json_object(path.read_text())["seed"])
    return CentroidHasher(base, settings.k, settings, seed)


METHOD = sparse_method(Settings, _fit, _load, "fit_on")
