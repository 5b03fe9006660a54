"""The store of features: one HDF5 file for each extractor and data set; NAME.h5.part can be continued."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from hashbench.foundation import paths, provenance
from hashbench.foundation.config import canonical_json, json_object
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import DISK_ERRORS, reported
from hashbench.foundation.parallel import slices
from hashbench.foundation.registry import canonical
from hashbench.running.datasets.stored_file import DAMAGE, opened
from hashbench.running.features._catalogue import RANDOM

DTYPES = np.dtype("<f4"), np.dtype("<f2")  # the latter of activations, of which there are many
IN_MEMORY_BYTES = 1 << 30  # larger features are mapped from the disk
HASHED_ROWS = 4096  # rows that are read at a time for the checksum


@dataclass(frozen=True, eq=False)
class Features:
    """The stored features [n, d] of a data set, float32 or float16; ``provenance`` is what made them."""

    name: str
    path: Path
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    sha256: str
    provenance: Mapping[str, Any]

    @cached_property
    def array(self) -> NDArray[Any]:
        """All features: verified and read, or mapped from the disk if they are larger than 1 GiB."""
        is_large = self.shape[0] * self.shape[1] * self.dtype.itemsize > IN_MEMORY_BYTES
        if not is_large:
            self.verify()
        with opened(self.path, _command(self.provenance["dataset"], self.name)) as file:
            stored = file["features"]
            offset = stored.id.get_offset()
            if is_large:
                return np.memmap(self.path, self.dtype, "c", offset, self.shape)
            return np.asarray(stored[:])

    def verify(self) -> None:
        """Raises HashbenchError unless the features have the checksum that was written with them."""
        with opened(self.path, _command(self.provenance["dataset"], self.name)) as file:
            if _digest(file["features"], self.shape[0]).hexdigest() != self.sha256:
                raise ValueError("other content than was written")


def path_of(dataset: str, name: str) -> Path:
    """The path of the features called ``name`` of a data set, whether they exist or not."""
    return paths.data() / canonical(dataset) / "features" / f"{name}.h5"


def read(dataset: str, name: str) -> Features:
    """The features called ``name``; raises HashbenchError if they are missing or damaged."""
    name = canonical(name)
    path = path_of(dataset, name)
    if not path.is_file():
        raise HashbenchError(f"{path}: no such features: run {_command(dataset, name)}")
    with opened(path, _command(dataset, name)) as file:
        stored = file["features"]
        begin = stored.id.get_offset()
        is_matrix = stored.ndim == 2 and stored.dtype in DTYPES and begin is not None
        is_whole = is_matrix and begin + stored.nbytes <= path.stat().st_size and file.attrs["rows"] == len(stored)
        origin = json_object(file.attrs["identity"]) | json_object(file.attrs["made_by"])
        if not is_whole or origin["dataset"] != canonical(dataset):
            raise ValueError(
                f"features {stored.dtype} {stored.shape} of {origin['dataset']}, not all that were written"
            )
        return Features(name, path, stored.shape, stored.dtype, str(file.attrs["sha256"]), origin)


class FeatureWriter:
    """Writes a file of features; ``rows`` is the number of rows written so far."""

    def __init__(self, file: h5py.File) -> None:
        self.file = file
        self.rows = int(file.attrs["rows"])
        self.digest = _digest(file["features"], self.rows)

    def append(self, block: NDArray[Any]) -> None:
        """Writes a block of rows; an extraction that is killed afterwards continues after this block."""
        block = np.ascontiguousarray(block, self.file["features"].dtype)
        self.file["features"][self.rows : self.rows + len(block)] = block
        self.file.flush()  # the rows must be on the disk before their number is
        self.digest.update(block.data)
        self.rows += len(block)
        self.file.attrs.modify("rows", self.rows)
        self.file.attrs.modify("sha256", self.digest.hexdigest())
        self.file.flush()


@contextmanager
def writing(
    path: Path, identity: Mapping[str, Any], shape: tuple[int, int], dtype: np.dtype[Any]
) -> Iterator[FeatureWriter]:
    """Opens the .part file, at the row where it was left, and renames it when complete; the caller holds its lock."""
    part = path.with_name(f"{path.name}.part")
    with reported(part, DISK_ERRORS):
        if not _can_go_on(part, identity, shape, dtype):
            with h5py.File(part, "w") as file:
                file.create_dataset("features", shape, dtype)
                made_by = {"code": provenance.code().model_dump(), "utc": provenance.utc()}
                texts = {"identity": canonical_json(dict(identity)), "made_by": canonical_json(made_by)}
                file.attrs.update(texts | {"rows": 0, "sha256": hashlib.sha256().hexdigest()})
        with h5py.File(part, "r+") as file:
            state = FeatureWriter(file)
            yield state
    if state.rows == shape[0]:
        with part.open("rb") as whole:
            os.fsync(whole.fileno())
        part.replace(path)


def is_stored(dataset: str, name: str, identity: Mapping[str, Any]) -> bool:
    """True where undamaged features with this ``identity`` are stored."""
    with suppress(HashbenchError):
        features = read(dataset, name)
        features.verify()
        return {key: features.provenance.get(key) for key in identity} == identity
    return False


def _can_go_on(part: Path, identity: Mapping[str, Any], shape: tuple[int, int], dtype: np.dtype[Any]) -> bool:
    with suppress(*DAMAGE), h5py.File(part, "r") as file:
        stored = file["features"]
        rows = int(file.attrs["rows"])
        return (
            str(file.attrs["identity"]) == canonical_json(dict(identity))
            and (stored.shape, stored.dtype) == (shape, dtype)
            and 0 <= rows <= shape[0]
            and _digest(stored, rows).hexdigest() == file.attrs["sha256"]
        )
    return False


def _digest(stored: h5py.Dataset, n_rows: int) -> "hashlib._Hash":
    """The checksum of the first ``n_rows``, to which later rows can be added."""
    digest = hashlib.sha256()
    for rows in slices(n_rows, HASHED_ROWS):
        digest.update(np.ascontiguousarray(stored[rows]).data)
    return digest


def _command(dataset: str, name: str) -> str:
    model, is_random, _ = name.partition(RANDOM)  # weights of our own are named by the end of ``model``
    command = f"hashbench features {canonical(dataset)} --model {model}"
    if is_random:
        command += " --weights none"
    return command
