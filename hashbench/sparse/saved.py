"""Reads activations, embeddings and sparse codes from files of any origin: .npz, .npy, .h5 or .mat.

The buckets of items are given by ``activations`` float[n, d], or by ``buckets`` int[n, k] and their number ``d``.
Distances are measured between ``embeddings`` float[n, m]. If a file has one array, it may have any name.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import Arrays, StoredArray, arrays_in
from hashbench.foundation.errors import HashbenchError
from hashbench.sparse.codes import SparseCodes, top_k
from hashbench.sparse.index import Sizes

ACTIVATIONS, EMBEDDINGS, BUCKETS, D = "activations", "embeddings", "buckets", "d"


def read_codes(path: Path, k: int | None) -> SparseCodes:
    """The codes in ``path``: its buckets, or the ``k`` largest of its activations.

    Raises HashbenchError if the file has neither, if it has activations and ``k`` is None, and if it has buckets and
    ``k`` is another number than theirs.
    """
    stored, d, k = _codes_in(path, k)
    values = stored.whole()
    return top_k(values, k) if d is None else SparseCodes(np.sort(_whole(values), axis=1), d)


def read_matrix(path: Path, name: str) -> NDArray[np.floating]:
    """The array ``name`` in ``path``, float[n, m]; if the file has one array only, that one, whatever its name."""
    return _matrix(path, arrays_in(path), name).whole()


def sizes_of(items: Path, embeddings: Path, k: int | None) -> Sizes:
    """The sizes of the index of these ``items`` and ``embeddings``; no values are read.

    Raises HashbenchError as ``read_codes`` and ``read_matrix`` do, and where the numbers of rows differ.
    """
    codes, d, k = _codes_in(items, k)
    vectors = _matrix(embeddings, arrays_in(embeddings), EMBEDDINGS)
    n_items, d = codes.shape[0], codes.shape[1] if d is None else d
    if not 1 <= k <= d:
        raise HashbenchError(f"{codes.where}: k = {k} of {d} buckets: k from 1 to {d} is expected")
    if vectors.shape[0] != n_items:
        raise HashbenchError(
            f"{vectors.where}: {vectors.shape[0]} embeddings, but {n_items} items in {items}: one for each is expected"
        )
    return Sizes(n_items, d, k, vectors.shape[1])


def _codes_in(path: Path, k: int | None) -> tuple[StoredArray, int | None, int]:
    """The activations in ``path``, None and k; or its buckets, their number d and that of an item's."""
    arrays = arrays_in(path)
    if BUCKETS not in arrays:
        activations = _matrix(path, arrays, ACTIVATIONS)
        if k is None:
            raise HashbenchError(f"{path}: activations: say with --k how many of the largest are set")
        return activations, None, k
    if D not in arrays:
        raise HashbenchError(f"{path}: {BUCKETS} without {D}: the number of buckets is expected beside them")
    buckets, stored = _matrix(path, arrays, BUCKETS), arrays[D]()
    if stored.shape not in ((), (1,), (1, 1)) or stored.dtype.kind not in "ui":
        raise HashbenchError(f"{stored.where}: {stored.dtype} of shape {stored.shape}: one integer is expected")
    if k not in (None, buckets.shape[1]):
        raise HashbenchError(f"{path}: {buckets.shape[1]} buckets an item; k = {k} is expected")
    return buckets, int(stored.small().item()), buckets.shape[1]


def _named(path: Path, arrays: Arrays, name: str) -> Any:
    if name in arrays:
        return arrays[name]
    if len(arrays) == 1 and not {ACTIVATIONS, EMBEDDINGS, BUCKETS} & arrays.keys():
        return next(iter(arrays.values()))
    held = ", ".join(sorted(map(ascii, arrays))[:12]) or "nothing"
    raise HashbenchError(f"{path}: {name!r} is expected; it holds {held}")


def _matrix(path: Path, arrays: Arrays, name: str) -> StoredArray:
    """The array ``name``, checked to be numbers [n, m]."""
    stored: StoredArray = _named(path, arrays, name)()
    if len(stored.shape) != 2 or 0 in stored.shape or stored.dtype.kind not in "buif":
        raise HashbenchError(f"{stored.where}: {stored.dtype} of shape {stored.shape}: numbers [n, m] are expected")
    return stored


def _whole(buckets: NDArray[Any]) -> NDArray[np.int64]:
    """``buckets`` as integers if they are whole numbers (MATLAB writes doubles), else unchanged: SparseCodes raises."""
    with np.errstate(invalid="ignore"):
        as_integers = buckets.astype(np.int64)
    return as_integers if np.array_equal(as_integers, buckets) else buckets
