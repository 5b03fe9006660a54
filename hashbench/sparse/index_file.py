"""An index as an HDF5 file: each array is contiguous, so that it is mapped into memory instead of being read."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.files import atomic
from hashbench.sparse.codes import SparseCodes
from hashbench.sparse.index import Index, invert

FORMAT = "hashbench sparse index"
VERSION = 1
TYPES = {"codes": "<i4", "indptr": "<i8", "ids": "<i4", "norms": "<f4", "embeddings": "<f4"}
ALIGNMENT = 64  # bytes: a cache line


def save(index: Index, path: Path) -> int:
    """The number of bytes that were written: the index goes to ``path``, whole or not at all."""
    arrays = {**_table(index), "norms": index.norms, "embeddings": index.embeddings}
    checksums = {"embeddings_sha256": index.embeddings_sha256, "codes_sha256": index.codes.sha256()}
    attributes = {"format": FORMAT, "version": VERSION, "d": index.codes.d, **checksums, "sha256": _sha256(arrays)}
    with atomic(path) as temporary:
        with h5py.File(temporary, "w", alignment_threshold=1, alignment_interval=ALIGNMENT) as file:
            for name, array in arrays.items():
                file.create_dataset(name, data=array, dtype=TYPES[name])
            file.attrs.update(attributes)
        return temporary.stat().st_size


def load(path: Path, *, verify: bool = False) -> Index:
    """The index in ``path``, whose arrays are mapped into memory; ``verify`` compares them with their checksum."""
    with _opened(path) as (file, arrays):
        checksums = {name: str(file.attrs[name]) for name in ("embeddings_sha256", "codes_sha256", "sha256")}
        codes = SparseCodes(np.array(arrays["codes"]), int(file.attrs["d"]))
        if arrays["indptr"].shape != (codes.d + 1,):
            raise ValueError("its arrays do not fit each other")
        index = Index(codes, *invert(codes), arrays["embeddings"], arrays["norms"], checksums["embeddings_sha256"])
        # the table is computed again and compared, because compiled code uses it as indices without bounds checks
        same = all(np.array_equal(array, arrays[name]) for name, array in _table(index).items())
        if not same or codes.sha256() != checksums["codes_sha256"]:
            raise ValueError("its codes or its table are damaged")
        if index.embeddings.ndim != 2 or not len(index.ids) == len(index.norms) == len(index.embeddings) > 0:
            raise ValueError("its arrays do not fit each other")
        if verify and _sha256(arrays) != checksums["sha256"]:
            raise ValueError("its checksum is another")
        return index


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, dict[str, NDArray[Any]]]]:
    damaged = retold(lambda cause: f"{path}: not a readable index: {cause}: build it again")
    gone = retold(lambda _: f"{path}: no such file", FileNotFoundError)
    with damaged, gone, h5py.File(path, "r") as file:
        if file.attrs.get("format") != FORMAT:
            raise HashbenchError(f"{path}: not an index: what hashbench index build writes is expected")
        if file.attrs.get("version") != VERSION:
            raise HashbenchError(f"{path}: of another version of the format than {VERSION}: build it again")
        yield file, {name: _mapped(path, file, name) for name in TYPES}


def _mapped(path: Path, file: Any, name: str) -> NDArray[Any]:
    inside = isinstance(file.get(name, getlink=True), h5py.HardLink) and isinstance(file[name], h5py.Dataset)
    dataset = file[name] if inside else None
    if dataset is None or dataset.chunks or dataset.external or dataset.is_virtual:
        raise ValueError(f"{name} is not stored in the file in one piece")
    offset = dataset.id.get_offset()
    if dataset.dtype != TYPES[name] or offset is None or offset % dataset.dtype.itemsize:
        raise ValueError(f"{name} is of type {dataset.dtype}, or nowhere")
    if offset + dataset.nbytes > path.stat().st_size:
        raise ValueError(f"{name} is cut off")
    # mode c (copy on write): the compiled kernels need writeable arrays, but writing must not change the file
    return np.asarray(np.memmap(path, dtype=TYPES[name], mode="c", offset=offset, shape=dataset.shape))


def _table(index: Index) -> dict[str, NDArray[Any]]:
    return {"codes": index.codes.buckets, "indptr": index.indptr, "ids": index.ids}


def _sha256(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(f"{name} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
