"""A matrix of features with a row for each item: .npy, HDF5, MATLAB's .mat, .fvecs or .bvecs.

The format is recognised by the first bytes of the file, not by its name. In HDF5 and .mat files, the one matrix with a
row for each item of the data set is read; it may be transposed, as in HDF5 files that MATLAB writes.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import mat
from hashbench.codes.files.npy import header
from hashbench.datasets.card import Card
from hashbench.datasets.readers._reader import Block, Files, Reader, as_float32
from hashbench.foundation.errors import HashbenchError, one_line

if TYPE_CHECKING:
    import h5py

BLOCK = 8192  # items; 33 MB of 1,024 features
NPY, HDF5, MAT = b"\x93NUMPY", b"\x89HDF\r\n\x1a\n", b"MATLAB 5.0"
MATLAB_HEADER_BYTES = 512  # before the HDF5 of MATLAB 7.3
NUMBERS = ("float32", "float64", "uint8")


class _Rows(Protocol):
    """An object whose slices are rows: an array, a memory map or an HDF5 data set."""

    def __getitem__(self, rows: slice, /) -> NDArray[Any]: ...


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        with ExitStack() as stack:
            try:
                n_rows, rows = _format(file)(card, file, stack)
                for start in range(0, n_rows, BLOCK):
                    items = as_float32(member.path, rows[start : start + BLOCK])
                    yield Block(items, np.empty((len(items), 0), np.uint8))
            except (OSError, EOFError, KeyError, RuntimeError, TypeError, ValueError) as error:
                raise HashbenchError(f"{member.path}: {one_line(error)}") from None


_Open = Callable[[Card, BinaryIO, ExitStack], tuple[int, _Rows]]


def _format(file: BinaryIO) -> _Open:
    head = file.read(MATLAB_HEADER_BYTES + len(HDF5))
    file.seek(0)
    if HDF5 in (head[: len(HDF5)], head[MATLAB_HEADER_BYTES:]):
        return _hdf5
    if head.startswith(NPY):
        return _npy
    return _mat if head.startswith(MAT) else _vectors


def _npy(card: Card, file: BinaryIO, _stack: ExitStack) -> tuple[int, _Rows]:
    shape, by_columns, dtype = header(file)
    _require(card, shape, dtype)
    return card.n_items, np.memmap(file, dtype, "r", file.tell(), shape, "F" if by_columns else "C")


def _hdf5(card: Card, file: BinaryIO, stack: ExitStack) -> tuple[int, _Rows]:
    import h5py

    found: dict[str, h5py.Dataset] = {}
    opened = stack.enter_context(h5py.File(file, "r"))
    opened.visititems(lambda name, item: found.update({name: item} if isinstance(item, h5py.Dataset) else {}))
    name = _only(card, {name: item.shape for name, item in found.items()})
    matrix = found[name]
    if matrix.external or matrix.is_virtual:
        raise ValueError(f"the data of {name} are in other files")
    _require(card, _upright(card, matrix.shape), matrix.dtype)
    return card.n_items, matrix if matrix.shape[1] == card.item_shape[0] else _Transposed(matrix)


def _mat(card: Card, file: BinaryIO, _stack: ExitStack) -> tuple[int, _Rows]:
    """The matrix of a .mat file of a version before 7.3, in which no matrix is larger than 2 GiB."""
    try:
        found = mat.variables(lambda: nullcontext(file))
        name = _only(card, {name: one.head.shape for name, one in found.items() if one.head.kind in NUMBERS})
        matrix = found[name].array(name).whole(order="F")
    except HashbenchError as error:
        raise ValueError(one_line(error)) from None
    upright = matrix if matrix.shape[1] == card.item_shape[0] else matrix.T
    _require(card, upright.shape, upright.dtype)
    return card.n_items, upright


def _vectors(card: Card, file: BinaryIO, _stack: ExitStack) -> tuple[int, _Rows]:
    """The vectors of an .fvecs or .bvecs file; a row is the length, int32, and the values, float32 or bytes."""
    (d,) = card.item_shape
    size_bytes = file.seek(0, 2)
    file.seek(0)
    if file.read(4) != np.int32(d).astype("<i4").tobytes():
        raise ValueError(f"neither .npy, HDF5 or .mat, nor .fvecs or .bvecs of {d} dimensions")
    for kind in ("<f4", "u1"):
        row = np.dtype([("length", "<i4"), ("values", kind, (d,))])
        if size_bytes == card.n_items * row.itemsize:
            return card.n_items, _Vectors(np.memmap(file, row, "r", 0, card.n_items))
    raise ValueError(f"{size_bytes:,} bytes are not {card.n_items:,} vectors of {d} floats or bytes")


class _Vectors:
    def __init__(self, rows: NDArray[np.void]) -> None:
        self.rows = rows

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        chosen = self.rows[rows]
        if (chosen["length"] != chosen["values"].shape[1]).any():
            raise ValueError(f"a vector of another length among the first {rows.stop:,}")
        return chosen["values"]


class _Transposed:
    def __init__(self, matrix: "h5py.Dataset") -> None:
        self.matrix = matrix

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        return self.matrix[:, rows].T


def _only(card: Card, shapes: dict[str, tuple[int, ...]]) -> str:
    """The name of the only matrix of the right shape; raises ValueError if there is not exactly one."""
    due = (card.n_items, *card.item_shape)
    names = [name for name, shape in shapes.items() if _upright(card, shape) == due]
    if len(names) != 1:
        found = ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items())) or "nothing"
        raise ValueError(f"one matrix {due} is expected, found {found[:200]}")
    return names[0]


def _upright(card: Card, shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[::-1] if shape == (*card.item_shape, card.n_items) else shape


def _require(card: Card, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raises ValueError for a wrong shape or type; call it before reading, since a header may state any size."""
    due = (card.n_items, *card.item_shape)
    if shape != due or dtype.name not in NUMBERS:
        raise ValueError(f"a matrix of {dtype} {shape}; {due} of {', '.join(NUMBERS)} is expected")


READER = Reader(_read)
