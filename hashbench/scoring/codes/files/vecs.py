"""``.fvecs``, ``.bvecs``, ``.ivecs``; ``.fbin``, ``.u8bin``, ``.i8bin``, ``.ibin``: vectors, or ids of neighbours.

These files begin like no other in particular, so they are known by their suffix.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes.files._stored import Arrays, StoredArray

# a row is its length, int32, and so many values (http://corpus-texmex.irisa.fr)
VECS: dict[str, np.dtype[Any]] = {".fvecs": np.dtype("<f4"), ".bvecs": np.dtype("u1"), ".ivecs": np.dtype("<i4")}
# the number of rows and their length, uint32 each, and the values (https://big-ann-benchmarks.com)
BINS: dict[str, np.dtype[Any]] = {
    ".fbin": np.dtype("<f4"),
    ".u8bin": np.dtype("u1"),
    ".i8bin": np.dtype("i1"),
    ".ibin": np.dtype("<i4"),
}
SUFFIXES = (*VECS, *BINS)


def arrays(path: Path) -> Arrays:
    """The array of the file, by its stem; or the neighbours and their distances."""
    if path.suffix.lower() in VECS:
        return {path.stem: lambda: _vecs(path)}
    return _bins(path)


def _vecs(path: Path) -> StoredArray:
    size = path.stat().st_size
    values = VECS[path.suffix.lower()]
    with path.open("rb") as file:
        d = int.from_bytes(file.read(4), "little", signed=True)
    row_bytes = 4 + d * values.itemsize
    if d < 1 or size % row_bytes:
        raise HashbenchError(f"{path}: {size:,} bytes are not whole rows of {d:,} values, as its first row says")
    row = np.dtype([("length", "<i4"), ("values", values, (d,))])

    def read(n: int) -> Iterator[NDArray[Any]]:
        for rows in slices(size // row_bytes, n):
            block = np.fromfile(path, row, rows.stop - rows.start, offset=rows.start * row_bytes)
            if (block["length"] != d).any():
                raise HashbenchError(f"{path}: a row among {rows.start} to {rows.stop - 1} is not of {d:,} values")
            yield np.ascontiguousarray(block["values"])

    return StoredArray(str(path), path.stem, (size // row_bytes, d), values, read)


def _bins(path: Path) -> Arrays:
    """The one array in the file, or the ids of neighbours and their distances, float32, behind them."""
    size = path.stat().st_size
    values = BINS[path.suffix.lower()]
    with path.open("rb") as file:
        n = int.from_bytes(file.read(4), "little")
        d = int.from_bytes(file.read(4), "little")
    n_bytes = n * d * values.itemsize
    has_distances = path.suffix.lower() == ".ibin" and size == 8 + 2 * n_bytes
    if not n_bytes or size not in (8 + n_bytes, 8 + 2 * n_bytes * has_distances):
        raise HashbenchError(f"{path}: {size:,} bytes are not {n:,} rows of {d:,} {values.name}, as its header says")
    if not has_distances:
        return {path.stem: lambda: _bin(path, path.stem, (n, d), values, 8)}
    return {
        "neighbours": lambda: _bin(path, "neighbours", (n, d), values, 8),
        "distances": lambda: _bin(path, "distances", (n, d), BINS[".fbin"], 8 + n_bytes),
    }


def _bin(path: Path, name: str, shape: tuple[int, int], values: np.dtype[Any], offset: int) -> StoredArray:
    n, d = shape

    def read(step: int) -> Iterator[NDArray[Any]]:
        for rows in slices(n, step):
            start = offset + rows.start * d * values.itemsize
            yield np.fromfile(path, values, (rows.stop - rows.start) * d, offset=start).reshape(-1, d)

    where = str(path)
    if name != path.stem:
        where += f": {name}"
    return StoredArray(where, name, shape, values, read)
