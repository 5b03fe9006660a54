"""IMH: inductive manifold hashing (Shen, Shen, Shi, van den Hengel, Tang 2013).

The k-means centres of the training examples are embedded by t-SNE, or by Laplacian eigenmaps that also count how
examples join the centres. The embedding of an item is the mean of those of its nearest centres, with weights
exp(-d^2 / bandwidth^2); a bit says whether it is above 0.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.lazy import Lazy
from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._anchors import AnchorEmbedding, clustered, mean_reach, require_nearest
from hashbench.learning.methods._shallow import ShallowSettings, principal_components, require_bits, shallow_method
from hashbench.learning.steps import anchor_weights, squared_distances

manifold = Lazy("sklearn.manifold")

SMALLEST = 1e-3  # eigenvalues below it belong to separate parts of the graph, as in the authors' code


class Settings(ShallowSettings):
    """``perplexity`` is of t-SNE; ``neighbours`` of a centre, itself among them, make the graph of eigenmaps."""

    n_anchors: int = Field(ge=2)
    nearest: int = Field(ge=2)  # with one, codes would be those of the centres alone
    kmeans_iterations: int = Field(ge=1)
    embedding: Literal["tsne", "laplacian"]
    perplexity: float = Field(gt=0)
    neighbours: int = Field(ge=2)


def _fit(settings: Settings, features: Floats, data: TrainingData) -> AnchorEmbedding:
    require_nearest(settings.nearest, settings.n_anchors)
    if settings.embedding == "tsne" and settings.perplexity >= settings.n_anchors:
        raise HashbenchError(f"perplexity = {settings.perplexity:g}: it must be below the {settings.n_anchors} anchors")
    anchors = clustered(features, settings.n_anchors, settings.kmeans_iterations, data.seed).cluster_centers_
    distances = squared_distances(features, anchors)
    bandwidth = mean_reach(distances, settings.nearest)
    if settings.embedding == "tsne":
        embedded = map_of(anchors, settings.bits, settings.perplexity, data.seed)
    else:
        z = anchor_weights(distances, settings.nearest, bandwidth)
        kernel = np.exp(np.partition(distances, settings.nearest - 1)[:, : settings.nearest] / -(bandwidth**2))
        embedded = eigenmap(anchors, min(settings.neighbours, len(anchors)), z, kernel.sum(axis=1))
        require_bits(settings.bits, embedded.shape[1], "eigenvectors of the graph of anchors")
        embedded = embedded[:, : settings.bits]
    return AnchorEmbedding(anchors, np.asarray(bandwidth), np.asarray(settings.nearest), embedded)


def map_of(anchors: Floats, bits: int, perplexity: float, seed: int) -> Floats:
    """The t-SNE map [m, bits] of ``anchors`` [m, d], with mean 0, from their first max(20, bits) components."""
    mean, axes = principal_components(anchors)
    tsne = manifold.TSNE(bits, perplexity=perplexity, method="exact", init="random", random_state=seed % 2**32)
    embedded: Floats = tsne.fit_transform((anchors - mean) @ axes[:, : max(20, bits)]).astype(np.float64)
    return embedded - embedded.mean(axis=0)


def eigenmap(anchors: Floats, neighbours: int, z: Floats, strength: Floats) -> Floats:
    """The eigenvectors [m, k] of M + 2 T with the smallest eigenvalues that are not 0.

    M is the Laplacian of the graph of anchors, T that of the anchors which share examples: diag(S) - S with
    S = Z^T diag(s) Z, z [n, m] the weights of the examples and s = ``strength`` [n] their sums before the division.
    """
    distances = squared_distances(anchors, anchors)
    reach = mean_reach(distances, neighbours)
    far = distances > np.partition(distances, neighbours - 1)[:, neighbours - 1 :][:, :1]
    graph = np.where(far & far.T, 0, np.exp(distances / -(reach**2)))
    shared = z.T @ (strength[:, None] * z)
    joined = graph + 2 * shared
    values, vectors = np.linalg.eigh(np.diag(joined.sum(axis=1)) - joined)
    return vectors[:, values > SMALLEST]


METHOD = shallow_method(Settings, _fit, AnchorEmbedding)
