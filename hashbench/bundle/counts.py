"""The stored counts of a run, read from files that anybody may have made."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import StoredArray, arrays_in
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram import Histogram
from hashbench.histogram.retrieval import CUTOFFS, Retrieval

MOST_BYTES = 4 << 30  # of one array in memory
MOST_COUNT = 1 << 40  # of items at a distance: a sum of such counts does not overflow


def read_histogram(path: Path) -> Histogram:
    """The histogram in a file; raises HashbenchError unless it can be one.

    The sizes are compared before an array is read: counts [q, d, v], none negative, and the same number of items for
    each query; levels ascending from 0.
    """
    arrays = checked_arrays(path, {"counts", "levels"})
    counts, levels = arrays["counts"], arrays["levels"]
    if len(counts.shape) != 3 or counts.shape[2:] != levels.shape or not _are_integers(counts, levels):
        raise HashbenchError(f"{path}: counts {counts.shape}, levels {levels.shape}: integers [q, d, v] and [v] go")
    histogram = Histogram(counts.whole(np.int64), levels.small().astype(np.int64))
    if fault := _fault_of(histogram):
        raise HashbenchError(f"{path}: {fault}")
    return histogram


def _are_integers(*arrays: StoredArray) -> bool:
    return all(array.dtype.kind == "i" and array.dtype.itemsize == 8 for array in arrays)


def _fault_of(histogram: Histogram) -> str | None:
    counts, levels = histogram.counts, histogram.levels
    if not levels.size or levels[0] != 0 or (np.diff(levels) <= 0).any():
        return "its levels do not ascend from 0"
    if counts.size and not 0 <= counts.min() <= counts.max() <= MOST_COUNT:
        return "its counts are negative or too large"
    if len(np.unique(counts.sum(axis=(1, 2)))) > 1:
        return "its queries have different numbers of items"
    return None


def read_retrieval(path: Path) -> Retrieval:
    """The retrieval in a file; raises HashbenchError unless it can be one."""
    names = {f"{name}_{cutoff}" for name in ("relevant", "n_candidates") for cutoff in CUTOFFS}
    checked_arrays(path, {"n_items", "contingency", *names})
    return Retrieval.load(path)


def checked_arrays(path: Path, names: set[str], others: frozenset[str] = frozenset()) -> dict[str, StoredArray]:
    """The arrays of an .npz file, of which no value is read yet.

    Raises HashbenchError unless they have these ``names`` (and perhaps some of ``others``) and fit into memory.
    """
    arrays = {name: array() for name, array in npz(path).items()}
    if not names <= arrays.keys() <= names | others:
        raise HashbenchError(
            f"{path}: it holds {', '.join(sorted(arrays)) or 'nothing'}: {', '.join(sorted(names))} go"
        )
    for array in arrays.values():
        require_memory(array.where, n_bytes(array))
    return arrays


def npz(path: Path) -> Any:
    """The arrays of an .npz file by name; raises HashbenchError for any other format that hashbench can read."""
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            raise HashbenchError(f"{path}: not a .npz file")
    return arrays_in(path)


def n_bytes(array: StoredArray) -> int:
    """The memory that the values of ``array`` take."""
    return int(np.prod([1, *map(int, array.shape)], dtype=object)) * array.dtype.itemsize


def require_memory(where: str, size: int) -> None:
    """Raises HashbenchError where something would take more than ``MOST_BYTES``."""
    if size > MOST_BYTES:
        raise HashbenchError(f"{where}: {size:,} bytes: {MOST_BYTES:,} at most")


def read_ids(array: StoredArray) -> NDArray[np.int64]:
    """The ids in ``array``, int64[n]."""
    if len(array.shape) != 1 or not _are_integers(array):
        raise HashbenchError(f"{array.where}: {array.dtype} of shape {array.shape}: ids, int64 [n], are expected")
    return array.whole(np.int64)
