"""An index as one HDF5 file: plain arrays in one piece, which are mapped into memory and not read."""

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


def save(index: Index, path: Path) -> None:
    """Writes the index to ``path``, whole or not at all."""
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
    with atomic(path) as temporary, h5py.File(temporary, "w", **aligned) as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, dtype=TYPES[name])
        file.attrs.update(attributes)


def load(path: Path, *, verify: bool = False) -> Index:
    """The index in ``path``, its embeddings left in the file, mapped: what is searched is read, and nothing else.

    The codes are compared with their checksum and the table with the codes; with ``verify`` the embeddings are
    compared with theirs too, which reads the whole file. Writing to the arrays changes neither the file nor what
    others see. Raises HashbenchError, in one line, for a file that is damaged, of another kind or of another version.
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
    # the table is made anew and compared, for compiled code follows it without looking
    same = all(np.array_equal(array, arrays[name]) for name, array in _table(index).items())
    if not same or codes.sha256() != said["codes_sha256"]:
        raise ValueError("its codes or its table are damaged")
    if index.embeddings.ndim != 2 or not len(index.ids) == len(index.norms) == len(index.embeddings) > 0:
        raise ValueError("its arrays do not fit each other")
    if verify and _sha256(arrays) != said["sha256"]:
        raise ValueError("its checksum is another")
    return index


def _mapped(path: Path, file: Any, name: str) -> NDArray[Any]:
    """The data set ``name`` as it lies in the file; ValueError where it does not lie in it in one piece."""
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
    # mode c: what is written stays in this process, and the compiled kernels know the arrays as plain ones
    return np.asarray(np.memmap(path, dtype=TYPES[name], mode="c", offset=offset, shape=dataset.shape))


def _table(index: Index) -> dict[str, NDArray[Any]]:
    return {"codes": index.codes.buckets, "indptr": index.indptr, "ids": index.ids}


def _sha256(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(f"{name} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
