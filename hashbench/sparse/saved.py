"""Reads activations, embeddings and sparse codes from files of any origin: .npz, .npy, .h5 or .mat.

The buckets of items are given by ``activations`` float[n, d], or by ``buckets`` int[n, k] and their number ``d``.
Distances are measured between ``embeddings`` float[n, m]. If a file has one array, it may have any name.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import Arrays, StoredArray, arrays_in
from hashbench.errors import HashbenchError
from hashbench.sparse.codes import SparseCodes, top_k

ACTIVATIONS, EMBEDDINGS, BUCKETS, D = "activations", "embeddings", "buckets", "d"


def read_codes(path: Path, k: int | None) -> SparseCodes:
    """The codes in ``path``: its buckets, or the ``k`` largest of its activations.

    Raises HashbenchError if the file has neither, if it has activations and ``k`` is None, and if it has buckets and
    ``k`` is another number than theirs.
    """
    arrays = arrays_in(path)
    if BUCKETS not in arrays:
        activations = read_matrix(path, ACTIVATIONS)
        if k is None:
            raise HashbenchError(f"{path}: activations: say with --k how many of the largest are set")
        return top_k(activations, k)
    if D not in arrays:
        raise HashbenchError(f"{path}: {BUCKETS} without {D}: the number of buckets is expected beside them")
    buckets, stored = _whole(_matrix(arrays[BUCKETS]())), arrays[D]()
    if stored.shape not in ((), (1,), (1, 1)) or stored.dtype.kind not in "ui":
        raise HashbenchError(f"{stored.where}: {stored.dtype} of shape {stored.shape}: one integer is expected")
    codes = SparseCodes(np.sort(buckets, axis=1), int(stored.small().item()))
    if k not in (None, codes.k):
        raise HashbenchError(f"{path}: {codes.k} buckets an item; k = {k} is expected")
    return codes


def read_matrix(path: Path, name: str) -> NDArray[np.floating]:
    """The array ``name`` in ``path``, float[n, m]; if the file has one array only, that one, whatever its name."""
    return _matrix(_named(path, arrays_in(path), name)())


def _named(path: Path, arrays: Arrays, name: str) -> Any:
    if name in arrays:
        return arrays[name]
    if len(arrays) == 1 and not {ACTIVATIONS, EMBEDDINGS, BUCKETS} & arrays.keys():
        return next(iter(arrays.values()))
    held = ", ".join(sorted(map(ascii, arrays))[:12]) or "nothing"
    raise HashbenchError(f"{path}: {name!r} is expected; it holds {held}")


def _matrix(stored: StoredArray) -> NDArray[Any]:
    if len(stored.shape) != 2 or 0 in stored.shape or stored.dtype.kind not in "buif":
        raise HashbenchError(f"{stored.where}: {stored.dtype} of shape {stored.shape}: numbers [n, m] are expected")
    return stored.whole()


def _whole(buckets: NDArray[Any]) -> NDArray[np.int64]:
    """``buckets`` as integers if they are whole numbers (MATLAB writes doubles), else unchanged: SparseCodes raises."""
    with np.errstate(invalid="ignore"):
        as_integers = buckets.astype(np.int64)
    return as_integers if np.array_equal(as_integers, buckets) else buckets
