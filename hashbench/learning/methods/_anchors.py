"""Anchors: k-means centres of the training examples, and the weights by which an item belongs to the nearest ones."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.lazy import Lazy
from hashbench.learning.contract import Floats
from hashbench.learning.methods._shallow import HashFunction
from hashbench.learning.steps import Step, anchor_weights, project, squared_distances

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

cluster = Lazy("sklearn.cluster")


@dataclass(frozen=True, eq=False)
class AnchorEmbedding(HashFunction):
    """activations = z(x) @ projection, where z(x) [m] are the ``anchor_weights`` of an item x."""

    of_column = True
    anchors: Floats  # [m, d]
    bandwidth: Floats  # []
    nearest: NDArray[np.int64]  # []
    projection: Floats  # [m, bits]

    def steps(self) -> list[Step]:
        distances = Step(squared_distances, {"others": self.anchors})
        weights = Step(anchor_weights, {"nearest": self.nearest, "bandwidth": self.bandwidth})
        return [distances, weights, Step(project, {"weights": self.projection})]


def clustered(features: Floats, n: int, iterations: int, seed: int, setting: str = "n_anchors") -> "KMeans":
    """k-means of ``features`` [n, d] after ``iterations``: ``cluster_centers_`` [m, d] and ``labels_`` [n].

    HashbenchError, which names the ``setting`` to change, if there are fewer different examples than centres.
    """
    distinct = len(np.unique(features, axis=0))
    if n > distinct:
        raise HashbenchError(f"{n} centres of {distinct} training examples that differ: a smaller {setting}")
    return k_means(features, n, iterations, seed)


def k_means(features: Floats, n: int, iterations: int, seed: int, start: Floats | None = None) -> "KMeans":
    """As :func:`clustered`, of ``n`` centres, from those at the ``start`` [n, d]; examples need not differ."""
    first = "k-means++" if start is None else start
    # tol = 0: all iterations, without a warning where more would change the centres
    kmeans: KMeans = cluster.KMeans(n, init=first, n_init=1, max_iter=iterations, tol=0, random_state=seed % 2**32)
    with threadpool_limits(1, user_api="openmp"):  # several threads add up in no fixed order
        return kmeans.fit(features)


def require_nearest(nearest: int, n_anchors: int) -> None:
    """Raises HashbenchError if an item shall have weights for more anchors than there are."""
    if nearest > n_anchors:
        raise HashbenchError(f"nearest = {nearest}: there are {n_anchors} anchors")


def mean_reach(distances: Floats, nearest: int) -> float:
    """The mean distance of an item to its ``nearest``-th anchor, from the squared ``distances`` [n, m]."""
    return float(np.sqrt(np.partition(distances, nearest - 1)[:, nearest - 1]).mean())
