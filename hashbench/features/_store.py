"""Where features lie: one HDF5 file an extractor and data set, with who made them; written so that it can go on.

While it is written it is called NAME.h5.part and says how many rows are whole, and their checksum. Another process
waits for the lock beside it. Its last step is to be renamed.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hashbench import paths
from hashbench.config import canonical_json
from hashbench.errors import HashbenchError, one_line
from hashbench.registry import canonical

if TYPE_CHECKING:
    import h5py

IN_MEMORY_BYTES = 1 << 30  # more is mapped from the disk
HASHED_ROWS = 4096
DAMAGE = (OSError, AttributeError, KeyError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, eq=False)
class Features:
    """Stored features float32[n, d] of a data set's items, row by row; ``provenance`` says what made them.

    Its keys: dataset, data_sha256, extractor, constants, device, version; and, of the run, code and utc.
    """

    name: str
    path: Path
    shape: tuple[int, int]
    sha256: str
    provenance: Mapping[str, Any]

    @cached_property
    def array(self) -> NDArray[np.float32]:
        """All of them: read, and their checksum compared; or mapped from the disk where they are over 1 GiB.

        Raises HashbenchError where they are damaged.
        """
        with _open(self.path, self.provenance["dataset"], self.name) as file:
            stored = file["features"]
            if stored.nbytes > IN_MEMORY_BYTES:
                return np.memmap(self.path, np.float32, "r", stored.id.get_offset(), self.shape)
            if _sha256(stored) != self.sha256:
                raise ValueError("other content than was written")
            return np.asarray(stored[:])

    def verify(self) -> None:
        """Raises HashbenchError unless the rows are those that were written."""
        with _open(self.path, self.provenance["dataset"], self.name) as file:
            if _sha256(file["features"]) != self.sha256:
                raise ValueError("other content than was written")


def path_of(dataset: str, name: str) -> Path:
    """Where the features called ``name`` of a data set lie, or would lie."""
    return paths.data() / canonical(dataset) / "features" / f"{name}.h5"


def read(dataset: str, name: str) -> Features:
    """The features called ``name``; raises HashbenchError where they are absent or damaged."""
    path = path_of(dataset, name)
    if not path.is_file():
        raise HashbenchError(f"{path}: no such features: run {_command(dataset, name)}")
    with _open(path, dataset, name) as file:
        stored = file["features"]
        if stored.ndim != 2 or stored.dtype != np.float32 or stored.id.get_offset() is None:
            raise ValueError(f"features are {stored.dtype} {stored.shape}")
        if stored.id.get_offset() + stored.nbytes > path.stat().st_size:
            raise ValueError("they end before they should")
        if int(file.attrs["rows"]) != len(stored):
            raise ValueError(f"{file.attrs['rows']} of {len(stored)} rows")
        provenance = json.loads(file.attrs["identity"]) | json.loads(file.attrs["made_by"])
        if provenance["dataset"] != canonical(dataset):
            raise ValueError(f"they are of {provenance['dataset']}")
        return Features(name, path, stored.shape, str(file.attrs["sha256"]), provenance)


class FeatureWriter:
    """A file of features that is being written: ``rows`` are there, ``append`` adds to them."""

    def __init__(self, file: "h5py.File", rows: int) -> None:
        self.file, self.rows = file, rows
        self.digest = hashlib.sha256()
        for block in _blocks(file["features"], rows):
            self.digest.update(block.data)

    def append(self, block: NDArray[np.float32]) -> None:
        """Writes a block; a process that is killed later goes on behind it."""
        block = np.ascontiguousarray(block, "<f4")
        self.file["features"][self.rows : self.rows + len(block)] = block
        self.file.flush()  # the rows are on the disk before it is said that they are
        self.digest.update(block.data)
        self.rows += len(block)
        self.file.attrs.modify("rows", self.rows)
        self.file.attrs.modify("sha256", self.digest.hexdigest())
        self.file.flush()


@contextmanager
def writing(
    path: Path, identity: Mapping[str, Any], made_by: Mapping[str, Any], shape: tuple[int, int]
) -> Iterator[FeatureWriter]:
    """The part file of these features, taken up where it was left, and put in place once it is whole.

    One of another ``identity``, or whose rows are not those it states, is begun anew. No other process may write them
    meanwhile.
    """
    import h5py

    part = path.with_name(f"{path.name}.part")
    if not _can_go_on(part, identity, shape):
        _begin(part, identity, made_by, shape)
    with h5py.File(part, "r+") as file:
        state = FeatureWriter(file, int(file.attrs["rows"]))
        yield state
    if state.rows == shape[0]:
        with part.open("rb") as whole:
            os.fsync(whole.fileno())
        part.replace(path)


def is_whole(dataset: str, name: str, identity: Mapping[str, Any]) -> bool:
    """Whether these very features are there, undamaged."""
    with suppress(HashbenchError):
        found = read(dataset, name)
        found.verify()
        return {key: found.provenance.get(key) for key in identity} == identity
    return False


def _begin(part: Path, identity: Mapping[str, Any], made_by: Mapping[str, Any], shape: tuple[int, int]) -> None:
    import h5py

    with h5py.File(part, "w") as file:
        file.create_dataset("features", shape, "<f4")
        texts = {"identity": canonical_json(dict(identity)), "made_by": canonical_json(dict(made_by))}
        file.attrs.update(texts | {"rows": 0, "sha256": hashlib.sha256().hexdigest()})


def _can_go_on(part: Path, identity: Mapping[str, Any], shape: tuple[int, int]) -> bool:
    import h5py

    with suppress(*DAMAGE), h5py.File(part, "r") as file:
        rows = int(file.attrs["rows"])
        return (
            str(file.attrs["identity"]) == canonical_json(dict(identity))
            and file["features"].shape == shape
            and file["features"].dtype == np.dtype("<f4")
            and 0 <= rows <= shape[0]
            and _sha256(file["features"], rows) == file.attrs["sha256"]
        )
    return False


def _sha256(stored: "h5py.Dataset", rows: int | None = None) -> str:
    found = hashlib.sha256()
    for block in _blocks(stored, len(stored) if rows is None else rows):
        found.update(block.data)
    return found.hexdigest()


def _blocks(stored: "h5py.Dataset", rows: int) -> Iterator[NDArray[np.float32]]:
    for start in range(0, rows, HASHED_ROWS):
        yield np.ascontiguousarray(stored[start : min(start + HASHED_ROWS, rows)])


@contextmanager
def _open(path: Path, dataset: str, name: str) -> "Iterator[h5py.File]":
    """The file, open; whatever goes wrong with it inside the block is damage."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            yield file
    except DAMAGE as error:
        raise HashbenchError(f"{path}: damaged ({one_line(error)}): run {_command(dataset, name)} again") from None


def _command(dataset: str, name: str) -> str:
    model, is_random, _ = name.partition("_random")
    return f"hashbench features {canonical(dataset)} --model {model}" + (" --weights none" if is_random else "")
