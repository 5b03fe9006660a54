"""The store of converted data: one HDF5 file a data set, opened whole into memory."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hashbench import paths
from hashbench.config import canonical_json
from hashbench.datasets.card import Card, load_card
from hashbench.datasets.readers import READERS
from hashbench.datasets.readers._reader import Block, Items
from hashbench.errors import HashbenchError, one_line
from hashbench.files import atomic

if TYPE_CHECKING:
    import h5py

CHUNK_BYTES = 4 << 20


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set in memory; an item's id is its row.

    ``items`` are uint8[n, height, width, channels] or float32[n, d], ``labels`` class ids int64[n],
    ``sha256`` the checksum of both (:func:`content_sha256`).
    """

    name: str
    items: Items
    labels: NDArray[np.int64]
    sha256: str


def path_of(card: Card) -> Path:
    """Where the converted data set lies, or would lie."""
    return paths.data() / card.name / f"{card.name}.h5"


def open_dataset(name: str) -> Dataset:
    """The data set called ``name``, in memory; its size, class counts and probes are checked against the card.

    Raises:
        HashbenchError: unknown, not downloaded, damaged, or not what the card says.
    """
    card = load_card(name)
    return _embedded(card) if card.embedded else _stored(card)


def verify(name: str) -> Dataset:
    """The data set called ``name`` after every byte has been checked; raises HashbenchError where one is wrong."""
    data = open_dataset(name)
    if content_sha256(data.items, data.labels) != data.sha256:
        raise _damaged(load_card(name), "its content has another checksum than when it was written")
    return data


def content_sha256(items: Items, labels: NDArray[np.int64]) -> str:
    """SHA-256 (hex) of items, then labels: each a line with type and shape, then little-endian bytes in C order."""
    digest = hashlib.sha256()
    for array in (items, labels):
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(f"{array.dtype.name} {','.join(map(str, array.shape))}\n".encode())
        digest.update(little.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def write(card: Card, blocks: Iterable[Block], sources: Mapping[str, str | None]) -> Path:
    """Where the blocks of a reader now lie as one HDF5 file, whole, or nothing does.

    ``sources`` are the checksums of the files they were read from. The file holds ``items`` and
    ``labels``, and as attributes the card's name, those checksums and the content's.
    """
    import h5py

    data = _gather(card, blocks)
    path = path_of(card)
    try:
        with atomic(path) as temporary, h5py.File(temporary, "w") as file:
            file.create_dataset("items", data=data.items, chunks=_chunk(data.items), fletcher32=True)
            file.create_dataset("labels", data=data.labels, chunks=_chunk(data.labels), fletcher32=True)
            file.attrs.update(card=card.name, sources=canonical_json(dict(sources)), content_sha256=data.sha256)
    except OSError as error:
        raise HashbenchError(f"{path}: cannot be written ({one_line(error)})") from None
    return path


def _gather(card: Card, blocks: Iterable[Block]) -> Dataset:
    """The data set of a reader's blocks, proven to be what the card says."""
    items = np.empty((card.n_items, *card.item_shape), card.dtype)
    labels = np.empty(card.n_items, np.int64)
    n = 0
    for some_items, some_labels in blocks:
        end = n + len(some_labels)
        if end > card.n_items:
            raise HashbenchError(f"{card.name}: more than the {card.n_items} items that the card states")
        items[n:end], labels[n:end] = some_items, some_labels
        n = end
    data = Dataset(card.name, items[:n], labels[:n], content_sha256(items[:n], labels[:n]))
    if fault := _fault(card, data):
        raise HashbenchError(f"{card.name}: {fault}")
    return data


def _embedded(card: Card) -> Dataset:
    return _gather(card, READERS.get(card.reader).read(card, ()))


def _stored(card: Card) -> Dataset:
    import h5py

    path = path_of(card)
    if not path.is_file():
        raise HashbenchError(f"{card.name} is not downloaded: run hashbench download {card.name} (or --from-dir DIR)")
    try:
        with h5py.File(path, "r") as file:
            data = _read(card, file)
    except (OSError, AttributeError, KeyError, RuntimeError, ValueError) as error:
        raise _damaged(card, one_line(error)) from None
    if fault := _fault(card, data):
        raise _damaged(card, fault)
    return data


def _read(card: Card, file: "h5py.File") -> Dataset:
    expected = {
        "items": ((card.n_items, *card.item_shape), card.dtype),
        "labels": ((card.n_items,), np.dtype(np.int64)),
    }
    for key, (shape, dtype) in expected.items():  # before a byte is read: a wrong shape could ask for any memory
        if (file[key].shape, file[key].dtype) != (shape, dtype):
            raise ValueError(f"{key} are {file[key].dtype} {file[key].shape}, not {dtype} {shape}")
    return Dataset(card.name, file["items"][:], file["labels"][:], str(file.attrs["content_sha256"]))


def _fault(card: Card, data: Dataset) -> str | None:
    """The first thing in which the data are not what the card says, or None."""
    return next(_faults(card, data), None)


def _faults(card: Card, data: Dataset) -> Iterator[str]:
    if len(data.labels) != card.n_items:
        yield f"{len(data.labels)} items; the card states {card.n_items}"
    if data.labels.min(initial=0) < 0 or data.labels.max(initial=0) >= card.n_classes:
        yield f"labels from {data.labels.min()} to {data.labels.max()}; 0 to {card.n_classes - 1} exist"
    counts = np.bincount(data.labels, minlength=card.n_classes).tolist()
    if card.class_counts is not None and counts != card.class_counts:
        yield f"class counts are {counts}; the card states {card.class_counts}"
    for probe in card.probes:
        if data.labels[probe.id] != probe.label:
            yield f"item {probe.id} has label {data.labels[probe.id]}; the card states {probe.label}"
        if hashlib.sha256(data.items[probe.id].tobytes()).hexdigest() != probe.sha256:
            yield f"item {probe.id} has other bytes than the card states"
    if card.content_sha256 not in (None, data.sha256):
        yield f"the content has checksum {data.sha256[:12]}; the card states {str(card.content_sha256)[:12]}"


def _chunk(array: NDArray[np.generic]) -> tuple[int, ...]:
    row_bytes = max(array[:1].nbytes, 1)
    return (min(len(array), max(CHUNK_BYTES // row_bytes, 1)), *array.shape[1:])


def _damaged(card: Card, reason: str) -> HashbenchError:
    return HashbenchError(f"{path_of(card)}: damaged ({reason}): run hashbench download {card.name} again")
