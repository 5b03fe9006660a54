"""A matrix of features with a row for each item: .npy, HDF5, .mat, .fvecs or .bvecs, told by the first bytes."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, BinaryIO

import h5py
import numpy as np
import scipy

from hashbench.foundation.errors import retold
from hashbench.foundation.parallel import slices
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block, Files, Reader, as_float32
from hashbench.scoring.codes.files import h5, mat
from hashbench.scoring.codes.files.npy import header

BLOCK = 8192  # items; 33 MB of 1,024 features
NPY = b"\x93NUMPY"
NUMBERS = ("float32", "float64", "uint8")


def _read(card: Card, files: Files) -> Iterator[Block]:
    due = (card.n_items, *card.item_shape)
    for member, file in files.members:
        with ExitStack() as stack, retold(partial("{}: {}".format, member.path)):
            matrices = _matrices(card, file, stack)
            fitting = [matrix for matrix in matrices.values() if matrix.shape in (due, due[::-1])]
            if len(fitting) != 1 or fitting[0].dtype.name not in NUMBERS:
                present = [f"{name} {matrix.dtype} {matrix.shape}" for name, matrix in sorted(matrices.items())]
                expected = f"one matrix {due} of {', '.join(NUMBERS)} is expected"
                raise ValueError(f"{expected}, found {', '.join(present)[:200] or 'nothing'}")
            (matrix,) = fitting
            for rows in slices(card.n_items, BLOCK):
                values = matrix[rows] if matrix.shape == due else matrix[:, rows].T
                yield Block(as_float32(member.path, values), np.empty((rows.stop - rows.start, 0), np.uint8))


def _matrices(card: Card, file: BinaryIO, stack: ExitStack) -> dict[str, Any]:
    """The matrices of the file by name, which are read where they are indexed; of a .mat those of the right shape."""
    head = file.read(1024)
    file.seek(0)
    if h5.recognises(head):
        items: dict[str, Any] = {}
        stack.enter_context(h5py.File(file, "r")).visititems(items.__setitem__)
        matrices = {name: item for name, item in items.items() if isinstance(item, h5py.Dataset)}
        if elsewhere := [name for name, matrix in matrices.items() if matrix.external or matrix.is_virtual]:
            raise ValueError(f"the data of {elsewhere[0]} are in other files")
        return matrices
    if head.startswith(NPY):
        shape, by_columns, dtype = header(file)
        return {"array": np.memmap(file, dtype, "r", file.tell(), shape, "F" if by_columns else "C")}
    if mat.recognises(head):
        due = {(card.n_items, *card.item_shape), (*card.item_shape, card.n_items)}
        heads = scipy.io.whosmat(file)
        return {name: mat.matrix(file, name) for name, shape, _ in heads if shape in due}
    return {"vectors": _vectors(card, file)}


def _vectors(card: Card, file: BinaryIO) -> Any:
    """The vectors of an .fvecs or .bvecs file; a row is the length, int32, and the values, float32 or bytes."""
    (d,) = card.item_shape
    size_bytes = file.seek(0, 2)
    layouts = [np.dtype([("length", "<i4"), ("values", kind, (d,))]) for kind in ("<f4", "u1")]
    row = next((row for row in layouts if size_bytes == card.n_items * row.itemsize), None)
    if row is None:
        fault = f"{size_bytes:,} bytes are not {card.n_items:,} vectors of {d} floats or bytes"
        raise ValueError(f"neither .npy, HDF5 or .mat, nor .fvecs or .bvecs: {fault}")
    vectors = np.memmap(file, row, "r", 0, card.n_items)
    if (vectors["length"] != d).any():
        raise ValueError(f"a vector of another length than {d}")
    return vectors["values"]


READER = Reader(_read)
