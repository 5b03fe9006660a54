"""``.mat`` of versions 5 to 7, MATLAB's own format, as SciPy reads it: each variable as a whole."""

import os
import struct
import warnings
import zlib
from collections.abc import Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, printable, quietly
from hashbench.foundation.lazy import Lazy
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes.files._stored import Arrays, StoredArray, refuse_bomb

scipy_io = Lazy("scipy.io")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
# by MATLAB's name of a class of matrices
TYPES = {"double": "float64", "single": "float32", "logical": "uint8", **{name: name for name in INTEGERS}}

NUMERIC = range(6, 16)  # the classes of matrices of numbers
NUMBERS = (*range(1, 8), 9, 12, 13)  # the types in which a file holds their values
COMPRESSED = 15
SMALL = 1 << 16  # from here on a type holds the size too
HEAD_BYTES = 1 << 16  # of a variable; its class, its shape and its name are in them


def recognises(head: bytes) -> bool:
    """True where a file that begins with ``head`` is of version 5 to 7."""
    return head.startswith(b"MATLAB 5.0")


def arrays(path: Path) -> Arrays:
    """The variables of the file, of which only matrices of real numbers can be read."""
    _check_types(path)
    heads = scipy_io.whosmat(path, appendmat=False)
    return {name: partial(_stored, path, name, shape, kind) for name, shape, kind in heads}


def _check_types(path: Path) -> None:
    """Raises ValueError where a variable's values have a type that MATLAB has not: at that SciPy ends the process."""
    with path.open("rb") as file:
        order = "<" if file.read(128).endswith(b"IM") else ">"
        while len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(f"{order}II", tag)
            head = file.read(min(size, HEAD_BYTES))
            file.seek(size - len(head), os.SEEK_CUR)
            if kind == COMPRESSED:
                head = zlib.decompressobj().decompress(head, HEAD_BYTES)[8:]
            at = 0
            for _ in ("its class", "its shape", "its name"):
                kind, size = struct.unpack_from(f"{order}II", head, at)
                at += 8
                if kind < SMALL:  # else up to 4 bytes stand in the tag itself
                    at += -(-size // 8) * 8
            matrix_class = struct.unpack_from(f"{order}I", head, 8)[0] & 0xFF
            if matrix_class in NUMERIC and struct.unpack_from(f"{order}I", head, at)[0] % SMALL not in NUMBERS:
                raise ValueError("damaged: the values of a matrix are no numbers")


def matrix(file: Path | BinaryIO, name: str) -> NDArray[Any]:
    """The matrix called ``name``, of the class that it has in MATLAB."""
    with warnings.catch_warnings(action="error"):  # of complex numbers it takes the real part, with a warning
        return scipy_io.loadmat(file, appendmat=False, mat_dtype=True, variable_names=[name])[name]


def _stored(path: Path, name: str, shape: tuple[int, ...], kind: str) -> StoredArray:
    where = f"{path}: {printable(name)}"
    if kind not in TYPES:
        raise HashbenchError(f"{where}: not numeric (MATLAB {kind}): a matrix of numbers is expected")
    dtype = np.dtype(TYPES[kind])
    refuse_bomb(where, prod(shape) * dtype.itemsize, path.stat().st_size)

    def read(n: int) -> Iterator[NDArray[Any]]:
        columns = matrix(path, name).T
        return (columns[part].astype(dtype, copy=False) for part in slices(len(columns), n))

    return StoredArray(where, name, shape[::-1], dtype, read, is_transposed=True)


def read(path: Path) -> dict[str, Any]:
    """The variables by name: matrices as arrays, text as str, cells as lists, a structure as a dict."""
    content = quietly(str(path), lambda: scipy_io.loadmat(path, appendmat=False), "not a readable .mat file")
    return {name: _plain(value) for name, value in content.items() if not name.startswith("__")}


def _plain(value: Any) -> Any:
    if value.dtype.names:
        structures = [{name: _plain(one[name]) for name in value.dtype.names} for one in value.ravel(order="F")]
        if len(structures) == 1:
            return structures[0]
        return structures
    if value.dtype == object:
        return [_plain(one) for one in value.ravel(order="F")]
    if value.dtype.kind == "U":
        return "".join(value.ravel())
    return value
