"""``.fvecs``, ``.bvecs``, ``.ivecs``; ``.fbin``, ``.u8bin``, ``.i8bin``, ``.ibin``: vectors, or ids of neighbours.

These files begin like no other in particular, so they are known by their suffix.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.codes.files._stored import Arrays, StoredArray, in_memory

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
    suffix = path.suffix.lower()
    if suffix in VECS:
        return {path.stem: lambda: in_memory(str(path), path.stem, _vecs(path, VECS[suffix]))}
    with path.open("rb") as file:
        n, d = np.fromfile(file, "<u4", 2).tolist()
    n_bytes = n * d * BINS[suffix].itemsize
    size = path.stat().st_size - 8

    def part(key: str, values: np.dtype[Any], offset: int) -> StoredArray:
        where = str(path) if key == path.stem else f"{path}: {key}"
        return in_memory(where, key, np.memmap(path, values, "r", offset, (n, d)))

    if n_bytes and size == n_bytes:
        return {path.stem: lambda: part(path.stem, BINS[suffix], 8)}
    if n_bytes and suffix == ".ibin" and size == 2 * n_bytes:  # distances, float32, stand behind the ids of neighbours
        return {
            "neighbours": lambda: part("neighbours", BINS[suffix], 8),
            "distances": lambda: part("distances", BINS[".fbin"], 8 + n_bytes),
        }
    raise HashbenchError(
        f"{path}: {size + 8:,} bytes are not {n:,} rows of {d:,} {BINS[suffix].name}, as its header says"
    )


def _vecs(path: Path, values: np.dtype[Any]) -> NDArray[Any]:
    with path.open("rb") as file:
        d = int.from_bytes(file.read(4), "little", signed=True)
    size = path.stat().st_size
    if d < 1 or size % (4 + d * values.itemsize):
        raise HashbenchError(f"{path}: {size:,} bytes are not whole rows of {d:,} values, as its first row says")
    rows = np.memmap(path, [("length", "<i4"), ("values", values, (d,))], "r")
    others = np.flatnonzero(rows["length"] != d)
    if others.size:
        raise HashbenchError(f"{path}: row {others[0]:,} is not of {d:,} values, as the first one is")
    return rows["values"]
