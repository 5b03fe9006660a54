"""k-sparse codes: k of d bits are set, and the item is in the buckets of those bits."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.distinct import count_distinct
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices

MAX_D = 1 << 20  # the most buckets
BLOCK_VALUES = 1 << 20  # activations that are compared at a time

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """Codes of n items; ``buckets`` int32[n, k] are the set bits of each code, ascending, from 0 to d - 1.

    Any other content raises HashbenchError.
    """

    buckets: Ints
    d: int

    def __post_init__(self) -> None:
        shape, of = self.buckets.shape, f"{self.d} buckets"
        if not 1 <= self.d <= MAX_D:
            raise HashbenchError(f"sparse codes of {of}: 1 to {MAX_D} are possible")
        if self.buckets.ndim != 2 or not 1 <= shape[1] <= self.d:
            raise HashbenchError(f"sparse codes of shape {shape}: [n, k] with k from 1 to {self.d}, of {of}")
        if self.buckets.dtype.kind not in "ui" or (self.buckets.size and not self._in_range()):
            raise HashbenchError(f"sparse codes: whole numbers from 0 to {self.d - 1} are expected, of {of}")
        if not (self.buckets[:, 1:] > self.buckets[:, :-1]).all():
            raise HashbenchError("sparse codes: the buckets of an item must ascend, none twice")
        object.__setattr__(self, "buckets", np.ascontiguousarray(self.buckets, np.int32))

    def _in_range(self) -> bool:
        return bool(self.buckets.min() >= 0 and self.buckets.max() < self.d)

    @property
    def k(self) -> int:
        """The number of set bits of a code."""
        return int(self.buckets.shape[1])

    @property
    def n_distinct(self) -> int:
        """The number of distinct codes."""
        return count_distinct(self.buckets.astype(np.uint64))

    def __len__(self) -> int:
        return len(self.buckets)

    def sha256(self) -> str:
        """The checksum of the codes and d. An index stores it, to check that it belongs to the codes."""
        digest = hashlib.sha256(f"{self.d} {len(self)} {self.k} ".encode())
        digest.update(np.ascontiguousarray(self.buckets, "<i4").data)
        return digest.hexdigest()


def top_k(activations: NDArray[np.floating], k: int) -> SparseCodes:
    """The codes of ``activations`` [n, d]: the k largest of each row are set [eq. 1]; of equal values, the first ones.

    Values are compared with their signs, not by magnitude. Raises HashbenchError unless 1 <= k <= d and all values are
    finite.

    >>> top_k(np.array([[0.5, -3.0, 2.0, 0.5]]), k=2).buckets
    array([[0, 2]], dtype=int32)
    """
    if activations.ndim != 2 or not 1 <= k <= activations.shape[1]:
        raise HashbenchError(
            f"k = {k}, activations of shape {activations.shape}: [n, d] and k from 1 to d are expected"
        )
    n, d = activations.shape
    buckets = np.empty((n, k), np.int32)
    for rows in slices(n, max(1, BLOCK_VALUES // d)):
        buckets[rows] = _largest(finite(activations[rows]), k)
    return SparseCodes(buckets, d)


def preference(activations: NDArray[np.floating]) -> Ints:
    """The bits of each row by descending activation, int32[n, d]: the first k are those that ``top_k`` sets.

    >>> preference(np.array([[0.5, -3.0, 2.0, 0.5]]))
    array([[2, 0, 3, 1]], dtype=int32)
    """
    return np.argsort(-finite(activations), axis=1, kind="stable").astype(np.int32)


def finite(activations: NDArray[np.floating]) -> NDArray[np.floating]:
    """``activations`` as floats (integers as float64); raises HashbenchError if one is NaN or infinite."""
    if not np.isfinite(activations).all():
        raise HashbenchError("activations: not finite (NaN or inf): finite ones are expected")
    return activations if activations.dtype.kind == "f" else activations.astype(np.float64)


def _largest(block: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    """The columns of the k largest values of each row, ascending; of values equal to the k-th, the leftmost."""
    n, d = block.shape
    if k == 1:
        return block.argmax(axis=1)[:, None]
    least = np.partition(block, d - k, axis=1)[:, d - k, None]
    above, level = block > least, block == least
    missing = k - above.sum(axis=1, keepdims=True)
    return np.nonzero(above | (level & (level.cumsum(axis=1) <= missing)))[1].reshape(n, k)
