"""HDF5: ``.h5`` and MATLAB's v7.3 ``.mat`` (transposed), in slabs; what may lead to other files is refused."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.lazy import Lazy
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes.files._stored import Arrays, StoredArray, in_memory, refuse_bomb

if TYPE_CHECKING:
    import h5py
else:
    h5py = Lazy("h5py")

SIGNATURE = b"\x89HDF\r\n\x1a\n"


def recognises(head: bytes) -> bool:
    """True where a file that begins with ``head`` is HDF5, perhaps after a block of the user's."""
    return any(head[start:].startswith(SIGNATURE) for start in (0, 512, 1024, 2048))


def arrays(path: Path) -> Arrays:
    """The data sets of the file's first level."""
    with h5py.File(path, "r") as file:
        names = list(file)
    return {name: partial(_stored, path, name) for name in names if not name.startswith("#")}


def attributes(path: Path) -> dict[str, str]:
    """The texts among the attributes of the file itself."""
    with h5py.File(path, "r") as file:
        return {name: value for name, value in file.attrs.items() if isinstance(value, str)}


def _stored(path: Path, name: str) -> StoredArray:
    where = f"{path}: {printable(name)}"
    with h5py.File(path, "r") as file:
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            raise HashbenchError(f"{where}: a link, which may lead out of the file: the data set itself is expected")
        dataset = file[name]
        is_array = isinstance(dataset, h5py.Dataset) and dataset.shape is not None
        if not is_array or dataset.is_virtual or dataset.external:
            kinds = "a group, a sparse matrix, nothing, or data in other files"
            raise HashbenchError(f"{where}: not an array ({kinds}): numbers in this file are expected")
        refuse_bomb(where, dataset.nbytes, dataset.id.get_storage_size())
        if h5py.check_string_dtype(dataset.dtype) is not None:
            texts = dataset.asstr("utf-8")[()].astype(np.str_)
            return in_memory(where, name, texts)
        is_of_matlab = "MATLAB_class" in dataset.attrs
        read = partial(_slabs, path, name)
        return StoredArray(where, name, dataset.shape, dataset.dtype, read, is_transposed=is_of_matlab)


def _slabs(path: Path, name: str, n: int) -> Iterator[NDArray[Any]]:
    with h5py.File(path, "r") as file:
        dataset = file[name]
        if not dataset.shape:
            yield np.reshape(dataset[()], 1)
            return
        chunk = (dataset.chunks or (1,))[0]
        for rows in slices(len(dataset), max(chunk, n // chunk * chunk)):  # so that each chunk is inflated once
            yield dataset[rows]
