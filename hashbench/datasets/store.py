"""The store of converted data sets: one HDF5 file for each, with contiguous items.

The items are not in compressed chunks, so that NumPy can map them into memory: every process reads any image with one
copy and without a lock, a data set larger than memory is opened like a small one, and the operating system caches what
is read often.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from hashbench.datasets.card import Card
from hashbench.datasets.readers import READERS, Block, Files, Items
from hashbench.datasets.stored_file import (
    Names,
    array_sha256,
    check_labels,
    checksum_mismatch,
    content_bytes,
    content_sha256,
    damaged,
    empty_labels,
    head,
    mismatches,
    offset_of,
    opened,
    read_items,
    read_labels,
)
from hashbench.foundation import paths
from hashbench.foundation.config import canonical_json
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.files import atomic
from hashbench.relevance.labels import Labels

if TYPE_CHECKING:
    import h5py

WRONG_CHECKSUM = "its content has another checksum than when it was written"


@dataclass(frozen=True, eq=False)
class DatasetLabels:
    """The labels of a data set: class ids int64[n], or uint8[n, labels] of 0 and 1.

    ``names`` are the file names of the items, or None. ``sha256`` is the checksum of the labels.
    """

    name: str
    labels: Labels
    names: Names
    sha256: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set; the id of an item is its row number.

    ``items`` are uint8[n, height, width, channels] or float32[n, d]. If they are larger than 1 GiB they are mapped from
    the disk, so read them in blocks. ``labels`` are class ids int64[n], or uint8[n, labels] of 0 and 1; without labels
    the array is uint8[n, 0]. ``sha256`` is the checksum of both (``content_sha256``).
    """

    name: str
    items: Items
    labels: Labels
    sha256: str
    names: Names = None


@dataclass(frozen=True)
class FileStatus:
    """The status of the file of a data set; only the header of the file was read.

    ``sha256`` is the checksum that the file states for its content; ``pinned`` says whether the card states the same.
    ``fault`` says why a damaged file cannot be used.
    """

    state: Literal["embedded", "stored", "labels only", "missing", "damaged"]
    path: Path | None = None
    size_bytes: int = 0
    sha256: str | None = None
    pinned: bool = False
    fault: str | None = None


def path_of(card: Card) -> Path:
    """The path of the converted data set, whether it exists or not."""
    return paths.data() / card.name / f"{card.name}.h5"


def labels_path_of(card: Card) -> Path:
    """The path of the labels that are stored without the items, whether it exists or not."""
    return paths.data() / card.name / f"{card.name}.labels.h5"


def open_dataset(card: Card) -> Dataset:
    """The data set of ``card``; its size, class counts and probes are compared with the card.

    Raises HashbenchError if it is not downloaded, damaged or not what the card says.
    """
    return _embedded(card) if card.embedded else _stored(card)


def open_labels(card: Card) -> DatasetLabels:
    """The labels of the data set, which are enough on the disk; raises as :func:`open_dataset` does."""
    path = path_of(card) if path_of(card).is_file() else labels_path_of(card)
    if not path.is_file():
        data = open_dataset(card)
        return DatasetLabels(card.name, data.labels, data.names, array_sha256(data.labels))
    with opened(card, path) as file:
        labels, names = read_labels(card, file)
        stated = str(file.attrs["content_sha256"])  # the checksum of the labels, if the file has no items
    if fault := next(mismatches(card, labels, None), None):
        raise damaged(path, card, fault)
    if path == labels_path_of(card) and array_sha256(labels) != stated:
        raise damaged(path, card, WRONG_CHECKSUM)
    return DatasetLabels(card.name, labels, names, array_sha256(labels))


def file_status(card: Card) -> FileStatus:
    """The status of the file of the data set; takes milliseconds for any size.

    Shapes and types are compared with the card, and the length of the file with the shapes. The bytes are not read;
    :func:`verify` reads them.
    """
    if card.embedded:
        return FileStatus("embedded")
    path = next((path for path in (path_of(card), labels_path_of(card)) if path.is_file()), None)
    if path is None:
        return FileStatus("missing")
    size = path.stat().st_size
    try:
        with opened(card, path) as file:
            check_labels(card, file)
            sha256 = str(file.attrs["content_sha256"])
            if path == path_of(card):
                offset_of(card, file, path)
                for fault in checksum_mismatch(card, sha256):
                    raise ValueError(fault)
    except HashbenchError as error:
        return FileStatus("damaged", path, size, fault=str(error))
    if path == labels_path_of(card):
        return FileStatus("labels only", path, size)
    return FileStatus("stored", path, size, sha256, sha256 == card.content_sha256)


def stated_sha256(card: Card) -> str:
    """The checksum that the file of a stored data set states for its content."""
    with opened(card, path_of(card)) as file:
        return str(file.attrs["content_sha256"])


def verify(card: Card, progress: Callable[[int], object] = int) -> Dataset:
    """The data set, with every byte checked; raises HashbenchError if one is wrong.

    ``progress`` is called with the number of bytes hashed since its last call.
    """
    data = open_dataset(card)
    if content_sha256(data.items, data.labels, progress) != data.sha256:
        raise damaged(path_of(card), card, WRONG_CHECKSUM)
    return data


def write(card: Card, blocks: Iterable[Block], sources: Mapping[str, str | None], *, labels_only: bool = False) -> Path:
    """The path of the HDF5 file to which the blocks of a reader were written; after an error no file is written.

    The file holds ``items`` (unless ``labels_only``), ``labels`` and, if the items have any, ``names``. Its attributes
    are the name of the card, the checksums ``sources`` of the files that were read, and the checksum of the content.
    """
    import h5py

    path = labels_path_of(card) if labels_only else path_of(card)
    try:
        with _fitting(card), atomic(path) as temporary, h5py.File(temporary, "w") as file:
            sha256 = _fill(card, file, blocks, labels_only)
            file.attrs.update(card=card.name, sources=canonical_json(dict(sources)), content_sha256=sha256)
    except (OSError, RuntimeError) as error:  # HDF5 raises RuntimeError if the disk is full when it closes the file
        raise HashbenchError(f"{path}: cannot be written ({one_line(error)})") from None
    return path


@contextmanager
def _fitting(card: Card) -> Iterator[None]:
    """Turns the errors of NumPy and HDF5 about items of another shape or number than the card's into HashbenchError."""
    try:
        yield
    except (ArithmeticError, MemoryError, TypeError, ValueError) as error:
        stated = f"item_shape {card.item_shape}, n_items {card.n_items}"
        raise HashbenchError(f"{card.name}: its files do not fit its card ({stated}): {one_line(error)}") from None


def _fill(card: Card, file: "h5py.File", blocks: Iterable[Block], labels_only: bool) -> str:
    """The checksum of the content, after the blocks were written one by one and compared with the card."""
    items = None if labels_only else file.create_dataset("items", (card.n_items, *card.item_shape), card.dtype)
    digest, labels, names, n = hashlib.sha256(), empty_labels(card), [], 0
    digest.update(b"" if items is None else head(items))
    for block in _within(card, blocks):
        end = n + len(block.labels)
        labels[n:end] = block.labels
        names += [] if block.names is None else [block.names]
        if items is not None:
            items[n:end] = block.items
            digest.update(content_bytes(cast("Items", block.items)))
        n = end
    digest.update(head(labels) + content_bytes(labels))
    file["labels"] = labels[:n]
    if names:
        file["names"] = np.concatenate(names)
        file.attrs["names_sha256"] = array_sha256(file["names"][:])
    content = None if items is None else (items, digest.hexdigest())
    if fault := next(mismatches(card, labels[:n], content), None):
        raise HashbenchError(f"{card.name}: {fault}")
    return digest.hexdigest()


def _within(card: Card, blocks: Iterable[Block]) -> Iterator[Block]:
    """The same blocks; raises HashbenchError if they have more items than the card states."""
    n = 0
    for block in blocks:
        n += len(block.labels)
        if n > card.n_items:
            raise HashbenchError(f"{card.name}: more than the {card.n_items} items that the card states")
        yield block


def _embedded(card: Card) -> Dataset:
    with _fitting(card):
        blocks = list(_within(card, READERS.get(card.reader).read(card, Files(()))))
    items = cast("Items", np.concatenate([block.items for block in blocks if block.items is not None]))
    data = Dataset(card.name, items, labels := np.concatenate([block.labels for block in blocks]), "")
    data = replace(data, sha256=content_sha256(items, labels))
    if fault := next(mismatches(card, labels, (items, data.sha256)), None):
        raise HashbenchError(f"{card.name}: {fault}")
    return data


def _stored(card: Card) -> Dataset:
    path = path_of(card)
    if not path.is_file():
        if card.own:
            raise HashbenchError(f"{path}: the data of {card.name} are gone: run {card.how_to_get}")
        raise HashbenchError(f"{card.name} is not downloaded: run hashbench download {card.name} (or --from-dir DIR)")
    with opened(card, path) as file:
        labels, names = read_labels(card, file)
        items = read_items(card, file, path)
        data = Dataset(card.name, items, labels, str(file.attrs["content_sha256"]), names)
    if fault := next(mismatches(card, labels, (items, data.sha256)), None):
        raise damaged(path, card, fault)
    if not isinstance(items, np.memmap) and content_sha256(items, labels) != data.sha256:
        raise damaged(path, card, WRONG_CHECKSUM)
    return data
