"""A matrix of features with a row for each item: .npy, HDF5, .mat, .fvecs or .bvecs, told by the first bytes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import mat
from hashbench.codes.files.npy import header
from hashbench.datasets.card import Card
from hashbench.datasets.readers import Block, Files, Reader, as_float32
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.parallel import slices

BLOCK = 8192  # items; 33 MB of 1,024 features
NPY = b"\x93NUMPY"
HDF5 = b"\x89HDF\r\n\x1a\n"
MAT = b"MATLAB 5.0"
MATLAB_HEADER_BYTES = 512  # before the HDF5 of MATLAB 7.3
NUMBERS = ("float32", "float64", "uint8")
FAULTS = (OSError, EOFError, KeyError, RuntimeError, TypeError, ValueError)  # of a damaged file

Rows = Callable[[slice], NDArray[Any]]


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        with ExitStack() as stack, retold(partial("{}: {}".format, member.path), *FAULTS):
            rows_of = _rows(card, file, stack)
            for rows in slices(card.n_items, BLOCK):
                items = as_float32(member.path, rows_of(rows))
                yield Block(items, np.empty((len(items), 0), np.uint8))


def _rows(card: Card, file: BinaryIO, stack: ExitStack) -> Rows:
    """A function that reads some rows; raises ValueError if the file does not hold one matrix of the right shape."""
    head = file.read(MATLAB_HEADER_BYTES + len(HDF5))
    file.seek(0)
    if HDF5 in (head[: len(HDF5)], head[MATLAB_HEADER_BYTES:]):
        return _hdf5(card, file, stack)
    if head.startswith(NPY):
        shape, by_columns, dtype = header(file)
        _require(card, shape, dtype)
        return np.memmap(file, dtype, "r", file.tell(), shape, "F" if by_columns else "C").__getitem__
    if head.startswith(MAT):
        return _mat(card, file)
    return _vectors(card, file)


def _hdf5(card: Card, file: BinaryIO, stack: ExitStack) -> Rows:
    import h5py

    items: dict[str, Any] = {}
    stack.enter_context(h5py.File(file, "r")).visititems(items.__setitem__)
    datasets = {name: item for name, item in items.items() if isinstance(item, h5py.Dataset)}
    name = _only(card, {name: dataset.shape for name, dataset in datasets.items()})
    matrix = datasets[name]
    if matrix.external or matrix.is_virtual:
        raise ValueError(f"the data of {name} are in other files")
    _require(card, _upright(card, matrix.shape), matrix.dtype)
    if matrix.shape[1] == card.item_shape[0]:
        return matrix.__getitem__
    return lambda rows: matrix[:, rows].T


def _mat(card: Card, file: BinaryIO) -> Rows:
    """The matrix of a .mat file of a version before 7.3, in which no matrix is larger than 2 GiB."""
    with retold(str, HashbenchError, by=ValueError):
        variables = mat.variables(lambda: nullcontext(file))
        heads = {name: variable.head for name, variable in variables.items()}
        name = _only(card, {name: head.shape for name, head in heads.items() if head.kind in NUMBERS})
        matrix = variables[name].array(name).whole(order="F")
    if matrix.shape[1] != card.item_shape[0]:
        matrix = matrix.T
    _require(card, matrix.shape, matrix.dtype)
    return matrix.__getitem__


def _vectors(card: Card, file: BinaryIO) -> Rows:
    """The vectors of an .fvecs or .bvecs file; a row is the length, int32, and the values, float32 or bytes."""
    (d,) = card.item_shape
    n = card.n_items
    size_bytes = file.seek(0, 2)
    file.seek(0)
    if file.read(4) != np.int32(d).astype("<i4").tobytes():
        raise ValueError(f"neither .npy, HDF5 or .mat, nor .fvecs or .bvecs of {d} dimensions")
    layouts = [np.dtype([("length", "<i4"), ("values", kind, (d,))]) for kind in ("<f4", "u1")]
    row = next((row for row in layouts if size_bytes == n * row.itemsize), None)
    if row is None:
        raise ValueError(f"{size_bytes:,} bytes are not {n:,} vectors of {d} floats or bytes")
    vectors = np.memmap(file, row, "r", 0, n)

    def read(rows: slice) -> NDArray[Any]:
        if (vectors[rows]["length"] != d).any():
            raise ValueError(f"a vector of another length among the first {rows.stop:,}")
        return np.asarray(vectors[rows]["values"])

    return read


def _only(card: Card, shapes: dict[str, tuple[int, ...]]) -> str:
    """The name of the only matrix of the right shape; raises ValueError if there is not exactly one."""
    due = (card.n_items, *card.item_shape)
    names = [name for name, shape in shapes.items() if _upright(card, shape) == due]
    if len(names) != 1:
        present = ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items())) or "nothing"
        raise ValueError(f"one matrix {due} is expected, found {present[:200]}")
    return names[0]


def _upright(card: Card, shape: tuple[int, ...]) -> tuple[int, ...]:
    if shape == (*card.item_shape, card.n_items):
        return shape[::-1]
    return shape


def _require(card: Card, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raises ValueError for a wrong shape or type; called before reading, since a header may state any size."""
    due = (card.n_items, *card.item_shape)
    if shape != due or dtype.name not in NUMBERS:
        raise ValueError(f"a matrix of {dtype} {shape}; {due} of {', '.join(NUMBERS)} is expected")


READER = Reader(_read)
