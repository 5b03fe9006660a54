"""HDF5: ``.h5`` and MATLAB's v7.3 ``.mat`` (transposed), in slabs; what may lead to other files is refused."""

from collections.abc import Iterator, Mapping
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._hdf5 import ask
from hashbench.codes.files._stored import Arrays, StoredArray, refuse_bomb
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.parallel import slices

MOST_SLABS = 4  # read together
MOST_CHUNK_BYTES = 256 << 20  # a chunk is inflated whole
MOST_TEXT_BYTES = 1 << 30  # texts read together take at most so many bytes, whatever the file refers to
SIGNATURE = b"\x89HDF\r\n\x1a\n"
MATLAB_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
MATLAB_NUMBERS = {"double", "single", "logical", *MATLAB_INTEGERS}


def recognises(head: bytes) -> bool:
    """True where a file that begins with ``head`` is HDF5, perhaps after a block of the user's."""
    return any(head[start:].startswith(SIGNATURE) for start in (0, 512, 1024, 2048))


def arrays(path: Path) -> Arrays:
    """The data sets of the file's first level."""
    head, _ = ask("names", path)
    return {name: partial(_stored, path, name) for name in head["names"] if not name.startswith("#")}


def attributes(path: Path) -> dict[str, str]:
    """The texts among the attributes of the file itself."""
    head, _ = ask("attributes", path)
    return dict(head["attributes"])


def _stored(path: Path, name: str) -> StoredArray:
    where = f"{path}: {printable(name)}"
    head, _ = ask("head", path, name)
    if head["kind"] == "link":
        raise HashbenchError(f"{where}: a link, which may lead out of the file: the data set itself is expected")
    if head["kind"] == "other":
        raise HashbenchError(f"{where}: not an array (a group, a sparse matrix or nothing): numbers are expected")
    shape = tuple(head["shape"])
    dtype = np.dtype(head["dtype"])
    matlab = head["matlab"]
    _check(where, head, prod(shape) * dtype.itemsize, prod(head["chunk"] or [0]) * dtype.itemsize)
    if head["kind"] == "text":
        return _texts(where, path, name, shape)
    if matlab is not None and matlab not in MATLAB_NUMBERS:
        raise HashbenchError(f"{where}: not numeric (MATLAB {printable(matlab)}): a matrix of numbers is expected")
    ways = [partial(_slabs, path, name, shape, head["chunk"], axis) for axis in (0, 1)]
    return StoredArray(where, name, shape, dtype, ways[0], is_transposed=matlab is not None, read_columns=ways[1])


def _check(where: str, head: Mapping[str, Any], n_bytes: int, chunk_bytes: int) -> None:
    stored_bytes = head["stored_bytes"]
    if head["is_elsewhere"]:
        raise HashbenchError(f"{where}: its data are in other files: they must be in this one")
    if head["is_empty"]:
        raise HashbenchError(f"{where}: an empty matrix: at least 1 item of 1 bit is expected")
    if n_bytes > 1100 * stored_bytes + (1 << 16):  # deflate shrinks at most 1032 to 1
        raise HashbenchError(f"{where}: cannot be read: {stored_bytes} bytes do not hold shape {tuple(head['shape'])}")
    refuse_bomb(where, n_bytes, stored_bytes)
    if chunk_bytes > MOST_CHUNK_BYTES:
        raise HashbenchError(f"{where}: chunks of {chunk_bytes} bytes: at most {MOST_CHUNK_BYTES} are read at once")


def _texts(where: str, path: Path, name: str, shape: tuple[int, ...]) -> StoredArray:
    """An array of texts, in memory: HDF5 stores each text by itself, so few are read at a time."""
    step = min(max(MOST_TEXT_BYTES // max(path.stat().st_size, 1), 16), 4096)  # one text is at most the whole file
    texts = np.concatenate([ask("texts", path, name, rows.start, rows.stop)[1] for rows in slices(shape[0], step)])
    return StoredArray(where, name, texts.shape, texts.dtype, lambda n: (texts[rows] for rows in slices(len(texts), n)))


def _slabs(
    path: Path, name: str, shape: tuple[int, ...], chunk: list[int], axis: int, n: int
) -> Iterator[NDArray[Any]]:
    if not shape:
        yield ask("scalar", path, name)[1]
        return
    step = (chunk or [1, 1])[axis]
    # whole chunks, so that each is inflated once; parts of a chunk where it is so long that it would be all
    for part in slices(shape[axis], min(max(step, n // step * step), MOST_SLABS * n)):
        yield ask("rows", path, name, axis, part.start, part.stop)[1]
