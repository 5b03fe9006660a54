"""HH: harmonious hashing (Xu, Bu, Lin, Chen, He, Cai 2013).

W = H H^T is the normalised graph of examples that share anchors. The projections P are the top eigenvectors of X^T W X;
one rotation then brings X P nearest to a random matrix with orthogonal columns of equal length, so that the variances
of bits become alike.
"""

import numpy as np
import scipy
from pydantic import Field

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._anchors import clustered, require_nearest
from hashbench.learning.methods._shallow import Linear, ShallowSettings, require_bits, shallow_method
from hashbench.learning.steps import squared_distances


class Settings(ShallowSettings):
    """``n_anchors`` come from ``kmeans_iterations`` of k-means; an item joins the ``nearest`` of them but the last."""

    n_anchors: int = Field(ge=2)
    nearest: int = Field(ge=2)
    kmeans_iterations: int = Field(ge=1)


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    require_nearest(settings.nearest, settings.n_anchors)
    anchors = clustered(features, settings.n_anchors, settings.kmeans_iterations, data.seed).cluster_centers_
    mean = features.mean(axis=0)
    centred = features - mean
    seen = graph_root(squared_distances(features, anchors), settings.nearest).T @ centred  # H^T X
    values, vectors = np.linalg.eigh(seen.T @ seen)
    rank = int((values > values[-1] * max(seen.shape) * np.finfo(np.float64).eps).sum())
    require_bits(settings.bits, rank, "directions along which the graph varies")
    axes = vectors[:, : -settings.bits - 1 : -1]
    projected = centred @ axes
    target, _ = scipy.linalg.polar(np.random.default_rng(data.seed).standard_normal(projected.shape))
    return Linear(mean, axes @ scipy.linalg.orthogonal_procrustes(projected, target)[0])


def graph_root(distances: Floats, nearest: int) -> Floats:
    """H [n, m] from the squared ``distances`` [n, m]: weights 1 - d^2 / r^2, r the distance to the ``nearest``-th."""
    reach = np.maximum(np.partition(distances, nearest - 1)[:, nearest - 1 : nearest], np.finfo(np.float64).tiny)
    z = np.maximum(1 - distances / reach, 0)
    degrees = z @ z.sum(axis=0)  # of each example in Z Z^T; 0 where all its nearest anchors are equally far
    return z / np.sqrt(np.maximum(degrees, 1e-12))[:, None]


METHOD = shallow_method(Settings, _fit, Linear)
