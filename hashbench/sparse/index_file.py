"""An index as an HDF5 file: each array is contiguous, so that it is mapped into memory instead of being read."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError, one_line
from hashbench.files import atomic
from hashbench.sparse.codes import SparseCodes
from hashbench.sparse.index import Index, invert

FORMAT, VERSION = "hashbench sparse index", 1
TYPES = {"codes": "<i4", "indptr": "<i8", "ids": "<i4", "norms": "<f4", "embeddings": "<f4"}
ALIGNMENT = 64  # bytes: a cache line


def save(index: Index, path: Path) -> int:
    """The number of bytes that were written: the index goes to ``path``, whole or not at all."""
    import h5py

    arrays = {**_table(index), "norms": index.norms, "embeddings": index.embeddings}
    attributes = {
        "format": FORMAT,
        "version": VERSION,
        "d": index.codes.d,
        "embeddings_sha256": index.embeddings_sha256,
        "codes_sha256": index.codes.sha256(),
        "sha256": _sha256(arrays),
    }
    aligned = {"alignment_threshold": 1, "alignment_interval": ALIGNMENT}
    with atomic(path) as temporary:
        with h5py.File(temporary, "w", **aligned) as file:
            for name, array in arrays.items():
                file.create_dataset(name, data=array, dtype=TYPES[name])
            file.attrs.update(attributes)
        return temporary.stat().st_size


def load(path: Path, *, verify: bool = False) -> Index:
    """The index in ``path``; its arrays are mapped into memory, so only the parts that a search needs are read.

    The codes are compared with their checksum and the table with the codes. With ``verify`` all arrays are compared
    with their checksum too, which reads the whole file. Writing to the arrays does not change the file. Raises
    HashbenchError for a file that is damaged, of another format or of another version.
    """
    try:
        return _loaded(path, verify)
    except HashbenchError:
        raise
    except FileNotFoundError:
        raise HashbenchError(f"{path}: no such file") from None
    except Exception as error:  # a damaged file can raise nearly anything inside HDF5
        raise HashbenchError(f"{path}: not a readable index: {one_line(error)}: build it again") from None


def _loaded(path: Path, verify: bool) -> Index:
    import h5py

    with h5py.File(path, "r") as file:
        if file.attrs.get("format") != FORMAT:
            raise HashbenchError(f"{path}: not an index: what hashbench index build writes is expected")
        if file.attrs.get("version") != VERSION:
            raise HashbenchError(f"{path}: of another version of the format than {VERSION}: build it again")
        arrays = {name: _mapped(path, file, name) for name in TYPES}
        said = {name: str(file.attrs[name]) for name in ("embeddings_sha256", "codes_sha256", "sha256")}
        codes = SparseCodes(np.array(arrays["codes"]), int(file.attrs["d"]))
    if arrays["indptr"].shape != (codes.d + 1,):
        raise ValueError("its arrays do not fit each other")
    index = Index(codes, *invert(codes), arrays["embeddings"], arrays["norms"], said["embeddings_sha256"])
    # the table is computed again and compared, because compiled code uses it as indices without bounds checks
    same = all(np.array_equal(array, arrays[name]) for name, array in _table(index).items())
    if not same or codes.sha256() != said["codes_sha256"]:
        raise ValueError("its codes or its table are damaged")
    if index.embeddings.ndim != 2 or not len(index.ids) == len(index.norms) == len(index.embeddings) > 0:
        raise ValueError("its arrays do not fit each other")
    if verify and _sha256(arrays) != said["sha256"]:
        raise ValueError("its checksum is another")
    return index


def _mapped(path: Path, file: Any, name: str) -> NDArray[Any]:
    """The HDF5 data set ``name``, mapped into memory; ValueError unless it is stored in the file in one piece."""
    import h5py

    inside = isinstance(file.get(name, getlink=True), h5py.HardLink) and isinstance(file[name], h5py.Dataset)
    dataset = file[name] if inside else None
    if dataset is None or dataset.chunks or dataset.external or dataset.is_virtual:
        raise ValueError(f"{name} does not lie in the file in one piece")
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
