"""AGH: anchor graph hashing with one layer or two (Liu, Wang, Kumar, Chang 2011).

Z [n, m] holds the weights of the ``nearest`` of m anchors (Eq. 2); the graph is A = Z diag(1^T Z)^-1 Z^T, its Laplacian
L = I - A, its eigenvectors y = Z W. One layer: a bit of each, whether y > 0. Two layers (Section 3.4): two bits of
each, the second one whether y is above a threshold (y > 0) or below one (y <= 0).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._anchors import AnchorEmbedding, clustered, mean_reach, require_nearest
from hashbench.learning.methods._shallow import ShallowSettings, require_bits, shallow_method
from hashbench.learning.steps import Step, anchor_weights, second_layer, squared_distances

TRIVIAL = 1 - 1e-3  # eigenvalues of A above it belong to separate parts of the graph, as in the authors' code
SMALLEST = 1e-10  # eigenvalues of A below it are 0 up to rounding


class Settings(ShallowSettings):
    """``n_anchors`` come from ``kmeans_iterations`` of k-means; an item has weights for the ``nearest`` of them."""

    n_anchors: int = Field(ge=2)
    nearest: int = Field(ge=1)
    kmeans_iterations: int = Field(ge=1)
    layers: Literal[1, 2] = 2


@dataclass(frozen=True, eq=False)
class AnchorGraph(AnchorEmbedding):
    """Bits of y = z(x) @ projection, then of y - upper (y > 0) or lower - y."""

    upper: Floats  # [bits of the second layer]
    lower: Floats

    def steps(self) -> list[Step]:
        """The steps from features [n, d] to activations [n, bits]."""
        return [*super().steps(), Step(second_layer, {"upper": self.upper, "lower": self.lower})]


def _fit(settings: Settings, features: Floats, data: TrainingData) -> AnchorGraph:
    nearest = settings.nearest
    require_nearest(nearest, settings.n_anchors)
    anchors = clustered(features, settings.n_anchors, settings.kmeans_iterations, data.seed).cluster_centers_
    distances = squared_distances(features, anchors)
    bandwidth = mean_reach(distances, nearest)
    z = anchor_weights(distances, nearest, bandwidth)
    projection = eigenvectors(z)
    number = "one" if settings.layers == 1 else "two"
    most = settings.layers * projection.shape[1]
    require_bits(settings.bits, most, f"bits, {number} of each eigenvector of the anchor graph")
    n_second = settings.bits // 2 if settings.layers == 2 else 0
    projection = projection[:, : settings.bits - n_second]
    upper, lower = thresholds(z, z @ projection[:, :n_second])
    return AnchorGraph(anchors, np.asarray(bandwidth), np.asarray(nearest), projection, upper, lower)


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
    n = len(y)
    size = np.abs(y)
    positive = (y > 0).astype(np.float64)
    degrees = z.sum(axis=0)
    smooth = z.T @ positive / np.where(degrees > 0, degrees, 1)[:, None]
    laplacian = positive - z @ smooth  # L e
    total = (laplacian * size).sum(axis=0) / (laplacian * positive).sum(axis=0)
    n_positive = positive.sum(axis=0)
    upper = (total * (n - n_positive) + size.sum(axis=0)) / n
    return upper, total - upper


METHOD = shallow_method(Settings, _fit, AnchorGraph)
