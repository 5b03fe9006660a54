"""The index of sparse codes: the items of each bucket, with their embeddings in one piece of memory."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.sparse.codes import SparseCodes

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Index:
    """An inverted table in CSR form: bucket b holds the items ids[indptr[b]:indptr[b + 1]], ascending."""

    codes: SparseCodes
    indptr: NDArray[np.int64]  # [d + 1]
    ids: NDArray[np.int32]  # [n k]
    embeddings: Floats  # [n k, m], in the order of ``ids``: the candidates of a bucket are one contiguous slice

    def __len__(self) -> int:
        return len(self.codes)


def build(codes: SparseCodes, embeddings: NDArray[np.floating]) -> Index:
    """The index of items with these ``codes`` and base ``embeddings`` [n, m]; HashbenchError for wrong embeddings."""
    n = len(codes)
    if embeddings.ndim != 2 or len(embeddings) != n or 0 in embeddings.shape:
        raise HashbenchError(f"embeddings of shape {embeddings.shape}, {n} codes: one row [m] for each code")
    bucket = codes.buckets.ravel()
    indptr = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=codes.d))])
    ids = (np.argsort(bucket, kind="stable") // codes.k).astype(np.int32)
    return Index(codes, indptr, ids, as_float32(embeddings)[ids])


def as_float32(embeddings: NDArray[np.floating]) -> Floats:
    """``embeddings`` [n, m] as float32; raises HashbenchError if one is not finite."""
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(embeddings, np.float32)
    if not np.isfinite(converted).all():
        raise HashbenchError("embeddings: not finite (NaN or inf) in float32: finite ones are expected")
    return converted


def squared_norms(embeddings: Floats) -> NDArray[np.float64]:
    """The squared length of each row, float64[n]."""
    return np.einsum("ij,ij->i", embeddings, embeddings, dtype=np.float64)
