"""Activations, embeddings and sparse codes in anybody's files: .npz, .npy, .h5 or .mat.

``activations`` float[n, d] say the buckets of an item, or ``buckets`` int[n, k] do, with the number of buckets, ``d``,
beside them. ``embeddings`` float[n, m] are what distances are measured in. A file of one array needs no names.
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
    """The codes in ``path``: the ``k`` largest of its activations, or its buckets (of ``k`` an item, if it is said).

    Raises HashbenchError for a file with neither, for activations without a ``k``, and for buckets of another.
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
    """The array ``name`` in ``path``, float[n, m]; of a file with one array, that one, whatever its name."""
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
    """``buckets`` as integers, where MATLAB wrote doubles; others stay what they are, and are refused as codes."""
    with np.errstate(invalid="ignore"):
        as_integers = buckets.astype(np.int64)
    return as_integers if np.array_equal(as_integers, buckets) else buckets
