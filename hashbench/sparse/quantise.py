"""Vector quantisation: each bucket is a centroid of k-means; an item is in the buckets of its k nearest centroids."""

import logging
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.sparse.index import Floats, as_float32, squared_norms

log = logging.getLogger(__name__)

BLOCK_ROWS = 1 << 12  # embeddings compared with all centroids together


@dataclass(frozen=True, eq=False)
class Centroids:
    """The centroids ``centres`` float32[d, m], one for each bucket; raises HashbenchError unless they are finite."""

    centres: Floats

    def __post_init__(self) -> None:
        if self.centres.ndim != 2 or 0 in self.centres.shape or self.centres.dtype.kind != "f":
            shape = self.centres.shape
            raise HashbenchError(f"centroids, {self.centres.dtype} of shape {shape}: floats [d, m] are expected")
        object.__setattr__(self, "centres", as_float32(self.centres))

    def activations(self, embeddings: NDArray[np.floating]) -> NDArray[np.float64]:
        """Minus the squared distance of each of ``embeddings`` [n, m] to each centroid, float64[n, d]."""
        d, width = self.centres.shape
        if embeddings.ndim != 2 or embeddings.shape[1] != width:
            raise HashbenchError(f"embeddings of shape {embeddings.shape}: the centroids have width {width}")
        scores = np.empty((len(embeddings), d))  # float64: rounding does not decide between two of float32
        for rows in slices(len(embeddings), BLOCK_ROWS):
            block = as_float32(embeddings[rows])
            product = block.astype(np.float64) @ self.centres.T.astype(np.float64)
            scores[rows] = np.minimum(2 * product - squared_norms(self.centres) - squared_norms(block)[:, None], 0)
        return scores


# one by default; before scikit-learn 1.4, and so in [Jeong and Song 2018], it was ten
def fit(embeddings: NDArray[np.floating], d: int, seed: int, *, n_init: int = 1) -> Centroids:
    """The centroids of ``embeddings`` [n, m] in ``d`` clusters: the best of ``n_init`` runs of k-means."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    if embeddings.ndim != 2 or not 1 <= d <= len(embeddings) or embeddings.shape[1] == 0:
        raise HashbenchError(f"{d} centroids of embeddings of shape {embeddings.shape}: [n, m], and d from 1 to n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters: logged below
        kmeans = KMeans(d, random_state=seed % 2**32, n_init=n_init).fit(as_float32(embeddings))
    n_used = len(np.unique(kmeans.labels_))
    if n_used < d:
        log.warning("k-means: %d of %d centroids have an item; no more embeddings differ", n_used, d)
    return Centroids(kmeans.cluster_centers_)
