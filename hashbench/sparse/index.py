"""The index of sparse codes: the items of each bucket, with their embeddings in one piece of memory."""

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.sparse.codes import SparseCodes

Floats = NDArray[np.float32]

BLOCK_ROWS = 1 << 14  # embeddings that are converted or squared at a time
LARGEST_NORM = 1e18  # of an embedding: squares and products of such embeddings are finite in float32
MOST_ITEMS = (1 << 31) - 1  # of one index, whose ids are int32


class Sizes(NamedTuple):
    """The numbers of items, of buckets, of buckets that an item is in, and of dimensions of an embedding."""

    n_items: int
    d: int
    k: int
    width: int


@dataclass(frozen=True, eq=False)
class Index:
    """An inverted table in CSR form: bucket b holds the items ids[indptr[b]:indptr[b + 1]], ascending."""

    codes: SparseCodes
    indptr: NDArray[np.int64]  # [d + 1]
    ids: NDArray[np.int32]  # [n k]
    embeddings: Floats  # [n k, m], in the order of ``ids``: the candidates of a bucket are one contiguous slice
    norms: Floats  # [n k], squared
    embeddings_sha256: str  # in the order of the items

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def sizes(self) -> Sizes:
        """Its sizes."""
        return Sizes(len(self), self.codes.d, self.codes.k, self.embeddings.shape[1])


def build(codes: SparseCodes, embeddings: NDArray[np.floating]) -> Index:
    """The index of items with these ``codes`` and base ``embeddings`` [n, m]; HashbenchError for wrong embeddings."""
    n = len(codes)
    if embeddings.ndim != 2 or len(embeddings) != n or 0 in embeddings.shape:
        raise HashbenchError(f"embeddings of shape {embeddings.shape}, {n} codes: one row [m] for each code")
    if n > MOST_ITEMS:
        raise HashbenchError(f"{n:,} items: an index holds at most {MOST_ITEMS:,}")
    indptr, ids = invert(codes)
    in_order = np.empty((len(ids), embeddings.shape[1]), np.float32)
    norms = np.empty(len(ids), np.float32)
    for rows in slices(len(ids), BLOCK_ROWS):
        in_order[rows] = as_float32(embeddings[ids[rows]])
        norms[rows] = squared_norms(in_order[rows])
    return Index(codes, indptr, ids, in_order, norms, embeddings_sha256(embeddings))


def invert(codes: SparseCodes) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """``indptr`` and ``ids`` of the inverted table of ``codes``, as in ``Index``."""
    # NumPy sorts 16 bit integers by radix sort, which is faster
    bucket = codes.buckets.ravel().astype(np.int16 if codes.d < 1 << 15 else np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(bucket, minlength=codes.d))])
    return indptr, (np.argsort(bucket, kind="stable") // codes.k).astype(np.int32)


def as_float32(embeddings: NDArray[np.floating]) -> Floats:
    """``embeddings`` [n, m] as float32; raises HashbenchError if one is not finite or longer than 1e18."""
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(embeddings, np.float32)
    if not (np.isfinite(converted).all() and (np.abs(converted) <= LARGEST_NORM / np.sqrt(converted.shape[1])).all()):
        raise HashbenchError("embeddings: not finite (NaN or inf), or longer than 1e18: finite ones are expected")
    return converted


def squared_norms(embeddings: Floats) -> NDArray[np.float64]:
    """The squared length of each row, float64[n]."""
    return np.einsum("ij,ij->i", embeddings, embeddings, dtype=np.float64)


def embeddings_sha256(embeddings: NDArray[np.floating]) -> str:
    """The checksum of ``embeddings`` [n, m] as float32, which an index stores."""
    digest = hashlib.sha256(f"{embeddings.shape[0]} {embeddings.shape[1:]} ".encode())
    for rows in slices(len(embeddings), BLOCK_ROWS):
        digest.update(np.ascontiguousarray(embeddings[rows], "<f4").data)
    return digest.hexdigest()
