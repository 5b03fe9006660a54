"""VQ: the buckets are d centroids of k-means on a metric embedding; an item is in those of its k nearest centroids.

As in the code of Jeong and Song (2018, section 6), they can be of the searched items: other items have other centroids.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.contract import DamagedHasher, SavedHasher, TrainingData
from hashbench.foundation.config import derive_seed, json_object
from hashbench.foundation.errors import retold
from hashbench.foundation.files import open_arrays, write_arrays, write_text
from hashbench.methods.exhaustive_search import SparseSettings, sparse_method
from hashbench.sparse import quantise
from hashbench.sparse.hasher import BucketHasher, ExhaustiveSearch
from hashbench.sparse.quantise import Centroids

FILE = "hasher.json"
CENTROIDS = "centroids.npz"


class Settings(SparseSettings):
    """``fit_on`` is the set whose embeddings k-means clusters; ``n_init`` is how many starts it keeps the best of."""

    fit_on: Literal["searched", "train"]
    n_init: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class CentroidHasher(BucketHasher):
    """The centroids that define the buckets; with ``fit_on`` "searched" they are None until a set is searched."""

    settings: Settings
    seed: int
    centroids: Centroids | None = None

    def searching(self, embeddings: NDArray[np.float32]) -> Self:
        """This hasher with the centroids of ``embeddings``; itself if its centroids are of the training examples."""
        return self if self.settings.fit_on == "train" else self.fitted(embeddings)

    def fitted(self, embeddings: NDArray[np.float32]) -> Self:
        """This hasher with the centroids of ``embeddings`` [n, m]."""
        settings = self.settings
        return replace(self, centroids=quantise.fit(embeddings, settings.d, self.seed, n_init=settings.n_init))

    def activate(self, items: NDArray[Any], embeddings: NDArray[np.float32]) -> NDArray[np.floating]:  # noqa: ARG002
        """Minus the squared distance to each centroid."""
        assert self.centroids is not None, "searching() has to set the centroids first"
        return self.centroids.activations(embeddings)

    def save(self, folder: Path) -> None:
        """Writes the seed of k-means and, with ``fit_on`` "train", the centroids."""
        if self.centroids is not None:
            write_arrays(folder / CENTROIDS, "plain", centres=self.centroids.centres)
        write_text(folder / FILE, json.dumps({"seed": self.seed}) + "\n")


def _fit(settings: Settings, data: TrainingData, base: ExhaustiveSearch) -> CentroidHasher:
    hasher = CentroidHasher(base, settings.k, settings, derive_seed(data.seed, "centroids"))
    return hasher.fitted(base.embed(data.items)) if settings.fit_on == "train" else hasher


def _load(settings: Settings, stored: SavedHasher, base: ExhaustiveSearch) -> CentroidHasher:
    path = stored.folder / FILE
    centroids = None
    with retold(lambda cause: f"{path}: {cause}", Exception, by=DamagedHasher):  # an archive can raise nearly anything
        seed = int(json_object(path.read_text())["seed"])
        if settings.fit_on == "train":
            path = stored.folder / CENTROIDS
            with open_arrays(path) as archive:
                centroids = Centroids(archive["centres"])
    return CentroidHasher(base, settings.k, settings, seed, centroids)


METHOD = sparse_method(Settings, _fit, _load, "fit_on")
