"""Optimised product quantisation (Ge, He, Ke, Sun 2013), without assumptions on the features.

The rotation R and the centroids lower |X R - Y|^2 in turn, Y the features X R with centroids in place of their parts:
R is the orthogonal factor of X^T Y, and k-means goes on from the last centroids.
"""

import numpy as np
import scipy
from pydantic import Field

from hashbench.learning.contract import Floats
from hashbench.learning.methods._products import ProductSettings, codebooks, product_method


class Settings(ProductSettings):
    """``iterations`` is how often R is updated, from none; before, k-means takes ``first_kmeans_iterations``."""

    iterations: int = Field(ge=0)
    first_kmeans_iterations: int = Field(ge=1)


def _fit(settings: Settings, features: Floats, seed: int) -> tuple[Floats, Floats]:
    n_parts = settings.bits // 8
    rotation = np.eye(features.shape[1])
    centroids, rebuilt = codebooks(features, n_parts, settings.first_kmeans_iterations, seed)
    for _ in range(settings.iterations):
        left, _, right = scipy.linalg.svd(features.T @ rebuilt, full_matrices=False)
        rotation = left @ right
        turned = features @ rotation
        centroids, rebuilt = codebooks(turned, n_parts, settings.kmeans_iterations, seed, centroids)
    return centroids, rotation


METHOD = product_method(Settings, _fit)
