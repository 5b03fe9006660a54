"""What k-sparse codes, their flow and their search are compared with: closed forms and exhaustive search."""

from math import comb

import numpy as np

from hashbench.sparse.codes import SparseCodes
from hashbench.sparse.index import build
from hashbench.sparse.search import SearchResult, query


def bits(codes: SparseCodes) -> np.ndarray:
    """The codes as bool[n, d]."""
    whole = np.zeros((len(codes), codes.d), bool)
    np.put_along_axis(whole, codes.buckets, True, axis=1)
    return whole


def objective(class_means: np.ndarray, codes: np.ndarray, lam: float | np.ndarray) -> float:
    """Eq. 5: minus the sum of the means under the ``codes`` bool[n_c, d], plus the price of each shared bucket.

    A bucket q of y classes costs lam_q y (y - 1): each ordered pair of them pays lam_q.
    """
    filled = codes.sum(axis=0)
    return float((np.asarray(lam) * filled * (filled - 1)).sum() - np.asarray(class_means, np.float64)[codes].sum())


def exhaustive(items: np.ndarray, embeddings: np.ndarray, top: int, *, workers: int | None = None) -> SearchResult:
    """The ``top`` nearest of all ``items`` [n, m] to each of ``embeddings`` [q, m]: the search of one bucket."""
    index = build(SparseCodes(np.zeros((len(items), 1), np.int32), d=1), items)
    return query(index, np.zeros((len(embeddings), 1)), embeddings, top, workers=workers)


def expected_speed_up(d: int, k: int) -> float:
    """The speed-up expected of random codes that set k of d bits and use all buckets equally.

    1 / (1 - C(d - k, k) / C(d, k)) [Jeong and Song 2018, eq. 11]: one over the probability that two such codes share a
    bucket. For k = 1 no codes do better; for larger k those can whose items share all of their buckets or none.
    Binomials are whole numbers, and the only rounding is that of the result.
    """
    every = comb(d, k)
    return every / (every - comb(d - k, k))
