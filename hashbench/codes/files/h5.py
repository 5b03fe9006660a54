"""``.h5`` and MATLAB's v7.3 ``.mat``: HDF5, read in slabs. MATLAB stores its matrices transposed.

Refused is what could lead to another file or to an object: links that are not hard, virtual data sets, external
storage, references, objects.
"""

from collections.abc import Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._stored import Arrays, Format, StoredArray, refuse_bomb
from hashbench.foundation.errors import HashbenchError, printable

MOST_SLABS = 4  # read together
MOST_TEXT_BYTES = 1 << 30  # texts read together take at most so many bytes, whatever the file refers to
LONGEST_NAME = 1000
SIGNATURE = b"\x89HDF\r\n\x1a\n"
MATLAB_NUMBERS = {"double", "single", "logical"} | {f"{u}int{size}" for u in ("", "u") for size in (8, 16, 32, 64)}


def _recognises(head: bytes) -> bool:
    return any(head[start:].startswith(SIGNATURE) for start in (0, 512, 1024, 2048))


def _arrays(path: Path) -> Arrays:
    import h5py

    with h5py.File(path, "r") as file:
        return {name: partial(_stored, path, name) for name in file if not name.startswith("#")}


def _stored(path: Path, name: str) -> StoredArray:
    import h5py

    where = f"{path}: {printable(name)}"
    with h5py.File(path, "r") as file:
        dataset = _dataset(where, file, name)
        _check(where, dataset)
        if dataset.dtype.kind == "O" and h5py.check_string_dtype(dataset.dtype) is not None:
            return _texts(where, name, dataset, path.stat().st_size)
        matlab = dataset.attrs.get("MATLAB_class")
        shape, dtype = dataset.shape, dataset.dtype
    if matlab is not None:
        kind = matlab.decode("ascii", "replace") if isinstance(matlab, bytes) else str(matlab)
        if kind not in MATLAB_NUMBERS:
            raise HashbenchError(f"{where}: not numeric (MATLAB {printable(kind)}): a matrix of numbers is expected")
    ways = [partial(_slabs, path, name, axis) for axis in (0, 1)]
    return StoredArray(where, name, shape, dtype, ways[0], is_transposed=matlab is not None, read_columns=ways[1])


def _texts(where: str, name: str, dataset: Any, file_size: int) -> StoredArray:
    """An array of texts, in memory: HDF5 stores each text by itself, so few are read at a time."""
    step = min(max(MOST_TEXT_BYTES // max(file_size, 1), 16), 4096)  # one text is at most the whole file
    parts = [_short(where, dataset.asstr("utf-8")[start : start + step]) for start in range(0, dataset.shape[0], step)]
    texts = np.concatenate(parts)
    return StoredArray(
        where, name, texts.shape, texts.dtype, lambda n: (texts[i : i + n] for i in range(0, len(texts), n))
    )


def _short(where: str, texts: NDArray[Any]) -> NDArray[np.str_]:
    longest = max(map(len, texts.ravel()), default=0)
    if longest > LONGEST_NAME:
        raise HashbenchError(f"{where}: a text of {longest} characters: names have at most {LONGEST_NAME}")
    return texts.astype(np.str_)


def _dataset(where: str, file: Any, name: str) -> Any:
    import h5py

    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise HashbenchError(f"{where}: a link, which may lead out of the file: the data set itself is expected")
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
        raise HashbenchError(f"{where}: not an array (a group, a sparse matrix or nothing): numbers are expected")
    return dataset


def _check(where: str, dataset: Any) -> None:
    if dataset.is_virtual or dataset.external:
        raise HashbenchError(f"{where}: its data are in other files: they must be in this one")
    if dataset.attrs.get("MATLAB_empty"):
        raise HashbenchError(f"{where}: an empty matrix: at least 1 item of 1 bit is expected")
    n_bytes, stored_bytes = prod(dataset.shape) * dataset.dtype.itemsize, dataset.id.get_storage_size()
    if n_bytes > 1100 * stored_bytes + (1 << 16):  # deflate shrinks at most 1032 to 1
        raise HashbenchError(f"{where}: cannot be read: {stored_bytes} bytes do not hold shape {dataset.shape}")
    refuse_bomb(where, n_bytes, stored_bytes)
    if dataset.chunks is not None:
        refuse_chunk(where, prod(dataset.chunks) * dataset.dtype.itemsize)


def refuse_chunk(where: str, n_bytes: int, most: int = 256 << 20) -> None:
    """Raises HashbenchError for chunks of more than ``most`` bytes: a chunk is inflated whole."""
    if n_bytes > most:
        raise HashbenchError(f"{where}: chunks of {n_bytes} bytes: at most {most} are read at once")


def _slabs(path: Path, name: str, axis: int, n: int) -> Iterator[NDArray[Any]]:
    import h5py

    with h5py.File(path, "r") as file:
        dataset = file[name]
        if not dataset.shape:
            yield np.asarray(dataset[()]).reshape(1)
            return
        chunk = dataset.chunks[axis] if dataset.chunks else 1
        # whole chunks, so that each is inflated once; parts of a chunk where it is so long that it would be all
        step = min(max(chunk, n // chunk * chunk), MOST_SLABS * n)
        for start in range(0, dataset.shape[axis], step):
            part = slice(start, start + step)
            yield dataset[:, part] if axis else dataset[part]


FORMAT = Format(_recognises, _arrays)
