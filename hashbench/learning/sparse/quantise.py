"""Vector quantisation: each bucket is a centroid of k-means; an item is in the buckets of its k nearest centroids."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.lazy import Lazy
from hashbench.foundation.parallel import slices
from hashbench.learning.sparse.index import Floats, as_float32, squared_norms

cluster = Lazy("sklearn.cluster")

BLOCK_ROWS = 1 << 12  # embeddings compared with all centroids together


@dataclass(frozen=True, eq=False)
class Centroids:
    """The centroids ``centres`` float32[d, m], one for each bucket."""

    centres: Floats

    def activations(self, embeddings: NDArray[np.floating]) -> NDArray[np.float64]:
        """Minus the squared distance of each of ``embeddings`` [n, m] to each centroid, float64[n, d]."""
        scores = np.empty((len(embeddings), len(self.centres)))  # float64: rounding does not decide between two
        for rows in slices(len(embeddings), BLOCK_ROWS):
            block = as_float32(embeddings[rows])
            product = block.astype(np.float64) @ self.centres.T.astype(np.float64)
            scores[rows] = np.minimum(2 * product - squared_norms(self.centres) - squared_norms(block)[:, None], 0)
        return scores


# one by default; before scikit-learn 1.4, and so in [Jeong and Song 2018], it was ten
def fit(embeddings: NDArray[np.floating], d: int, seed: int, *, n_init: int = 1) -> Centroids:
    """The centroids of ``embeddings`` [n, m] in ``d`` clusters: the best of ``n_init`` runs of k-means."""
    if d > len(embeddings):
        raise HashbenchError(f"{d} centroids of {len(embeddings)} embeddings: d is at most their number")
    kmeans = cluster.KMeans(d, random_state=seed % 2**32, n_init=n_init).fit(as_float32(embeddings))
    return Centroids(as_float32(kmeans.cluster_centers_))
