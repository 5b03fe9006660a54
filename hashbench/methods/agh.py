"""AGH: anchor graph hashing with one layer or two (Liu, Wang, Kumar, Chang 2011).

Z [n, m] holds the weights of the ``nearest`` of m anchors (Eq. 2); the graph is A = Z diag(1^T Z)^-1 Z^T, its Laplacian
L = I - A, its eigenvectors y = Z W. One layer: a bit of each, whether y > 0. Two layers (Section 3.4): two bits of
each, the second one whether y is above a threshold (y > 0) or below one (y <= 0).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.contract import Floats, TrainingData
from hashbench.foundation.errors import HashbenchError
from hashbench.methods._shallow import HashFunction, ShallowSettings, require_bits, shallow_method, squared_distances

TRIVIAL = 1 - 1e-3  # eigenvalues of A above it belong to separate parts of the graph, as in the authors' code
SMALLEST = 1e-10  # eigenvalues of A below it are 0 up to rounding


class Settings(ShallowSettings):
    """``n_anchors`` come from ``kmeans_iterations`` of k-means; an item has weights for the ``nearest`` of them."""

    n_anchors: int = Field(ge=2)
    nearest: int = Field(ge=1)
    kmeans_iterations: int = Field(ge=1)
    layers: Literal[1, 2] = 2


@dataclass(frozen=True, eq=False)
class AnchorGraph(HashFunction):
    """Bits of y = z(x) @ projection, then of y - upper (y > 0) or lower - y; z(x) [m] are the ``weights``."""

    of_column = True
    anchors: Floats  # [m, d]
    bandwidth: Floats  # []
    nearest: NDArray[np.int64]  # []
    projection: Floats  # [m, bits of the first layer]
    upper: Floats  # [bits of the second layer]
    lower: Floats

    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d]."""
        distances = squared_distances(features, self.anchors)
        y = weights(distances, int(self.nearest), float(self.bandwidth)) @ self.projection
        split = y[:, : len(self.upper)]
        return np.hstack([y, np.where(split > 0, split - self.upper, self.lower - split)])


def weights(distances: Floats, nearest: int, bandwidth: float) -> Floats:
    """Z float64[n, m] from the squared ``distances`` [n, m] to the anchors."""
    ids = np.argpartition(distances, nearest - 1, axis=1)[:, :nearest]
    near = np.take_along_axis(distances, ids, axis=1)
    # the nearest anchor has the weight 1 before the division, so that no sum is 0 for an item far from all anchors
    unscaled = np.exp((near.min(axis=1, keepdims=True) - near) / bandwidth**2)
    z = np.zeros(distances.shape)
    np.put_along_axis(z, ids, unscaled / unscaled.sum(axis=1, keepdims=True), axis=1)
    return z


def _fit(settings: Settings, features: Floats, data: TrainingData) -> AnchorGraph:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    n_anchors, nearest, distinct = settings.n_anchors, settings.nearest, len(np.unique(features, axis=0))
    if nearest > n_anchors:
        raise HashbenchError(f"nearest = {nearest}: there are {n_anchors} anchors")
    if n_anchors > distinct:
        raise HashbenchError(f"{n_anchors} anchors from {distinct} training examples that differ: too few")
    # tol = 0: all iterations, without a warning where more would change the centres
    rounds, seed = settings.kmeans_iterations, data.seed % 2**32
    with threadpool_limits(1, user_api="openmp"):  # several threads add up in no fixed order
        kmeans = KMeans(n_anchors, n_init=1, max_iter=rounds, tol=0, random_state=seed).fit(features)
    distances = squared_distances(features, kmeans.cluster_centers_)
    bandwidth = np.sqrt(np.partition(distances, nearest - 1)[:, nearest - 1]).mean()
    z = weights(distances, nearest, bandwidth)
    projection = eigenvectors(z)
    each = "one of each" if settings.layers == 1 else "two of each"
    require_bits(settings.bits, settings.layers * projection.shape[1], f"bits, {each} eigenvector of the anchor graph")
    n_second = settings.bits // 2 if settings.layers == 2 else 0
    projection = projection[:, : settings.bits - n_second]
    upper, lower = thresholds(z, z @ projection[:, :n_second])
    return AnchorGraph(kmeans.cluster_centers_, np.asarray(bandwidth), np.asarray(nearest), projection, upper, lower)


def eigenvectors(z: Floats) -> Floats:
    """W [m, k]: the columns of Z W are orthonormal eigenvectors of A, with 0 < eigenvalue < 1, largest first."""
    used = z.sum(axis=0) > 0  # an anchor that is near to no example has no weight
    scaled = z[:, used] / np.sqrt(z[:, used].sum(axis=0))
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    kept = np.flatnonzero((values > SMALLEST) & (values < TRIVIAL))[::-1]
    w = np.zeros((z.shape[1], len(kept)))
    w[used] = vectors[:, kept] / np.sqrt(values[kept]) / np.sqrt(z[:, used].sum(axis=0))[:, None]
    return w


def thresholds(z: Floats, y: Floats) -> tuple[Floats, Floats]:
    """b+, b- [k] of eigenvectors ``y`` [n, k]: f = y - b+ where y > 0, else b- - y, least f^T L f, sum 0 (Eq. 11)."""
    n, size, positive = len(y), np.abs(y), (y > 0).astype(np.float64)
    smooth = z.T @ positive / np.where(z.sum(axis=0) > 0, z.sum(axis=0), 1)[:, None]
    laplacian = positive - z @ smooth  # L e
    total = (laplacian * size).sum(axis=0) / (laplacian * positive).sum(axis=0)
    n_positive = positive.sum(axis=0)
    upper = (total * (n - n_positive) + size.sum(axis=0)) / n
    return upper, total - upper


METHOD = shallow_method(Settings, _fit, AnchorGraph)
