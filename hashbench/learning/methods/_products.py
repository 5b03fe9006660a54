"""Product quantisation: an item is the number of its nearest centroid in each sub-space."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.lazy import Lazy
from hashbench.learning.contract import Arrays, Floats, TrainingData
from hashbench.learning.methods._anchors import k_means
from hashbench.learning.methods._method import Method
from hashbench.learning.methods._quantiser import QuantiserSettings, QuantisingFunction, QuantisingHasher
from hashbench.learning.methods._shallow import shallow_method
from hashbench.learning.steps import squared_distances
from hashbench.scoring.codes import MAX_BITS
from hashbench.scoring.histogram.ranking import Distances, by_tables

exceptions = Lazy("sklearn.exceptions")

N_CENTROIDS = 256  # of a sub-space: their number is a byte


class ProductSettings(QuantiserSettings):
    """There are ``bits`` / 8 sub-spaces; k-means takes ``kmeans_iterations`` in each."""

    bits: int = Field(ge=8, le=MAX_BITS, multiple_of=8)
    kmeans_iterations: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class Quantiser(QuantisingFunction):
    """The sub-spaces are runs of equally many features, after a rotation [d, d] if there is one."""

    centroids: Floats  # [bytes, 256, d / bytes]
    rotation: Floats | None = None

    @property
    def n_features(self) -> int:
        return self.centroids.shape[0] * self.centroids.shape[2]

    def of_items(self, features: Floats) -> Arrays:
        """The numbers of the nearest centroids, uint8[n, bytes]; of two that are as near the first."""
        return {"centroids": self.squared_distances(features).argmin(axis=2).astype(np.uint8)}

    def of_queries(self, features: Floats) -> Arrays:
        """The squared distances, or minus the inner products, to the centroids of each part, float64[q, bytes, 256]."""
        if self.metric != "ip":
            return {"tables": self.squared_distances(features)}
        products = [part @ centroids.T for part, centroids in self._parts(features)]
        return {"tables": -np.stack(products, axis=1)}

    def distances(self, queries: Arrays, prepared: Arrays) -> Distances:
        return by_tables(queries["tables"], prepared["centroids"])

    def squared_distances(self, features: Floats) -> Floats:
        """The squared distances float64[n, bytes, 256] of ``features`` [n, d] to the centroids of each part."""
        return np.stack([squared_distances(part, centroids) for part, centroids in self._parts(features)], axis=1)

    def _parts(self, features: Floats) -> Iterator[tuple[Floats, Floats]]:
        """The features [n, d / bytes] in each sub-space, turned, and its centroids."""
        turned = features if self.rotation is None else features @ self.rotation
        return zip(np.split(turned, len(self.centroids), axis=1), self.centroids, strict=True)


def codebooks(
    features: Floats, n_parts: int, iterations: int, seed: int, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """The centroids [parts, 256, d / parts] of ``features`` [n, d], k-means from those at the ``start``; and Y [n, d].

    Y are the features with each part replaced by its nearest centroid.
    """
    clusterings = []
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", exceptions.ConvergenceWarning
        )  # a part with fewer different rows has a centroid twice
        for n, part in enumerate(np.split(features, n_parts, axis=1)):
            first = None if start is None else start[n]
            clusterings.append(k_means(part, N_CENTROIDS, iterations, seed + n, first))
    centroids = np.stack([clustering.cluster_centers_ for clustering in clusterings])
    rebuilt = [clustering.cluster_centers_[clustering.labels_] for clustering in clusterings]
    return centroids, np.hstack(rebuilt)


def product_method(
    settings: type[ProductSettings], fit: Callable[[Any, Floats, int], tuple[Floats, Floats | None]]
) -> Method:
    """The method whose ``fit(settings, features, seed)`` returns the centroids and the rotation, if there is one."""

    def fitted(chosen: ProductSettings, features: Floats, data: TrainingData) -> Quantiser:
        return Quantiser(*fit(chosen, features, data.seed), metric=np.array(data.metric))

    identity = ("query",)
    return shallow_method(settings, fitted, Quantiser, identity=identity, hasher=QuantisingHasher, require=_require)


def _require(settings: ProductSettings, n_features: int, n_examples: int) -> None:
    n_parts = settings.bits // 8
    if n_features % n_parts:
        where = f"{n_features} features in {n_parts} sub-spaces of 8 bits"
        raise HashbenchError(f"{where}: {n_parts} must divide {n_features}")
    if n_examples < N_CENTROIDS:
        raise HashbenchError(
            f"{n_examples} training examples: a sub-space has {N_CENTROIDS} centroids, so as many are needed"
        )
