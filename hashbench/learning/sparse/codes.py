"""k-sparse codes: k of d bits are set, and the item is in the buckets of those bits.

Files (.npz, .npy, .h5 or .mat) have ``activations`` float[n, d], or ``buckets`` int[n, k] and their number ``d``.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes.distinct import count_distinct
from hashbench.scoring.codes.files import Arrays, StoredArray, arrays_in

MAX_D = 1 << 20  # the most buckets
BLOCK_VALUES = 1 << 20  # activations that are compared at a time
ACTIVATIONS = "activations"
EMBEDDINGS = "embeddings"
BUCKETS = "buckets"
D = "d"

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """Codes of n items; ``buckets`` int32[n, k] are the set bits of each code, ascending, from 0 to d - 1."""

    buckets: Ints
    d: int

    def __post_init__(self) -> None:
        buckets = self.buckets
        size = f"sparse codes of {self.d} buckets"
        if buckets.ndim != 2 or not 1 <= buckets.shape[1] <= self.d <= MAX_D:
            shape = buckets.shape
            raise HashbenchError(f"{size}, of shape {shape}: [n, k] with k from 1 to d, d to {MAX_D}, is expected")
        is_within = buckets.dtype.kind in "ui" and not ((buckets < 0) | (buckets >= self.d)).any()
        if not is_within or not (buckets[:, 1:] > buckets[:, :-1]).all():
            raise HashbenchError(f"{size}: of an item whole numbers from 0 to {self.d - 1} are expected, ascending")
        object.__setattr__(self, "buckets", np.ascontiguousarray(buckets, np.int32))

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


def top_k(activations: NDArray[np.floating], k: int) -> SparseCodes:
    """The codes of ``activations`` [n, d]: the k largest of each row are set [eq. 1], the first of equal values."""
    if activations.ndim != 2 or not 1 <= k <= activations.shape[1]:
        shape = activations.shape
        raise HashbenchError(f"k = {k}, activations of shape {shape}: [n, d] and k from 1 to d are expected")
    n, d = activations.shape
    buckets = np.empty((n, k), np.int32)
    for rows in slices(n, max(1, BLOCK_VALUES // d)):
        block = _finite(activations[rows])
        if k == 1:
            buckets[rows, 0] = block.argmax(axis=1)
        else:
            buckets[rows] = np.sort(preference(block)[:, :k], axis=1)
    return SparseCodes(buckets, d)


def preference(activations: NDArray[np.floating]) -> Ints:
    """The bits of each row by descending activation, int32[n, d]: ``top_k`` sets the first k."""
    return np.argsort(-_finite(activations), axis=1, kind="stable").astype(np.int32)


def _finite(activations: NDArray[np.floating]) -> NDArray[np.floating]:
    if not np.isfinite(activations).all():
        raise HashbenchError("activations: not finite (NaN or inf): finite ones are expected")
    if activations.dtype.kind == "f":
        return activations
    return activations.astype(np.float64)


def read_codes(path: Path, k: int | None) -> SparseCodes:
    """The codes in ``path``: its buckets, or the ``k`` largest of its activations."""
    arrays = arrays_in(path)
    if BUCKETS in arrays and D in arrays:
        values = _stored_matrix(path, arrays, BUCKETS).whole()
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)  # MATLAB writes doubles; SparseCodes refuses numbers that are not whole
        if np.array_equal(whole, values):
            values = whole
        return SparseCodes(np.sort(values, axis=1), arrays[D]().integer())
    activations = _stored_matrix(path, arrays, ACTIVATIONS)
    if k is None:
        raise HashbenchError(f"{path}: activations: say with --k how many of the largest are set")
    with retold(lambda fault: f"{path}: {fault}", HashbenchError):
        return top_k(activations.whole(), k)


def read_matrix(path: Path, name: str) -> NDArray[np.floating]:
    """The array ``name`` in ``path``, float[n, m]; if the file has one array only, that one, whatever its name."""
    return _stored_matrix(path, arrays_in(path), name).whole()


def _stored_matrix(path: Path, arrays: Arrays, name: str) -> StoredArray:
    """The array ``name`` of ``arrays``, or the only one; raises HashbenchError unless it is of numbers [n, m]."""
    if name not in arrays and (len(arrays) != 1 or {ACTIVATIONS, EMBEDDINGS, BUCKETS} & arrays.keys()):
        held = ", ".join(sorted(map(ascii, arrays))[:12]) or "nothing"
        raise HashbenchError(f"{path}: {name!r} is expected; it holds {held}")
    open_array = arrays.get(name) or next(iter(arrays.values()))
    stored = open_array()
    if len(stored.shape) != 2 or 0 in stored.shape or stored.dtype.kind not in "buif":
        raise HashbenchError(f"{stored.where}: {stored.dtype} of shape {stored.shape}: numbers [n, m] are expected")
    return stored
