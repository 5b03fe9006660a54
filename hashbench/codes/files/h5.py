"""HDF5: ``.h5`` and MATLAB's v7.3 ``.mat`` (transposed), in slabs; what may lead to other files is refused."""

from collections.abc import Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._stored import Arrays, StoredArray, refuse_bomb
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.parallel import slices

MOST_SLABS = 4  # read together
MOST_CHUNK_BYTES = 256 << 20  # a chunk is inflated whole
MOST_TEXT_BYTES = 1 << 30  # texts read together take at most so many bytes, whatever the file refers to
LONGEST_NAME = 1000
SIGNATURE = b"\x89HDF\r\n\x1a\n"
MATLAB_NUMBERS = {"double", "single", "logical"} | {f"{u}int{size}" for u in ("", "u") for size in (8, 16, 32, 64)}


def recognises(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is HDF5, perhaps after a block of the user's."""
    return any(head[start:].startswith(SIGNATURE) for start in (0, 512, 1024, 2048))


def arrays(path: Path) -> Arrays:
    """The data sets of the file's first level."""
    import h5py

    with h5py.File(path, "r") as file:
        return {name: partial(_stored, path, name) for name in file if not name.startswith("#")}


def _stored(path: Path, name: str) -> StoredArray:
    import h5py

    where = f"{path}: {printable(name)}"
    with h5py.File(path, "r") as file:
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            raise HashbenchError(f"{where}: a link, which may lead out of the file: the data set itself is expected")
        dataset = file[name]
        if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
            raise HashbenchError(f"{where}: not an array (a group, a sparse matrix or nothing): numbers are expected")
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


def _check(where: str, dataset: Any) -> None:
    if dataset.is_virtual or dataset.external:
        raise HashbenchError(f"{where}: its data are in other files: they must be in this one")
    if dataset.attrs.get("MATLAB_empty"):
        raise HashbenchError(f"{where}: an empty matrix: at least 1 item of 1 bit is expected")
    item_bytes, stored_bytes = dataset.dtype.itemsize, dataset.id.get_storage_size()
    n_bytes, chunk_bytes = prod(dataset.shape) * item_bytes, prod(dataset.chunks or (0,)) * item_bytes
    if n_bytes > 1100 * stored_bytes + (1 << 16):  # deflate shrinks at most 1032 to 1
        raise HashbenchError(f"{where}: cannot be read: {stored_bytes} bytes do not hold shape {dataset.shape}")
    refuse_bomb(where, n_bytes, stored_bytes)
    if chunk_bytes > MOST_CHUNK_BYTES:
        raise HashbenchError(f"{where}: chunks of {chunk_bytes} bytes: at most {MOST_CHUNK_BYTES} are read at once")


def _texts(where: str, name: str, dataset: Any, file_size: int) -> StoredArray:
    """An array of texts, in memory: HDF5 stores each text by itself, so few are read at a time."""
    step, parts = min(max(MOST_TEXT_BYTES // max(file_size, 1), 16), 4096), []  # one text is at most the whole file
    for rows in slices(dataset.shape[0], step):
        part = dataset.asstr("utf-8")[rows]
        longest = max(map(len, part.ravel()), default=0)
        if longest > LONGEST_NAME:
            raise HashbenchError(f"{where}: a text of {longest} characters: names have at most {LONGEST_NAME}")
        parts.append(part.astype(np.str_))
    texts = np.concatenate(parts)
    return StoredArray(where, name, texts.shape, texts.dtype, lambda n: (texts[rows] for rows in slices(len(texts), n)))


def _slabs(path: Path, name: str, axis: int, n: int) -> Iterator[NDArray[Any]]:
    import h5py

    with h5py.File(path, "r") as file:
        dataset = file[name]
        if not dataset.shape:
            yield np.asarray(dataset[()]).reshape(1)
            return
        chunk = dataset.chunks[axis] if dataset.chunks else 1
        # whole chunks, so that each is inflated once; parts of a chunk where it is so long that it would be all
        for part in slices(dataset.shape[axis], min(max(chunk, n // chunk * chunk), MOST_SLABS * n)):
            yield dataset[:, part] if axis else dataset[part]
