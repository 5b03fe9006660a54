"""The store of converted data sets: one HDF5 file for each, whose contiguous items NumPy can map into memory."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import h5py
import numpy as np

from hashbench.foundation import paths
from hashbench.foundation.config import canonical_json
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.files import atomic
from hashbench.foundation.once import once
from hashbench.running.datasets import stored_file
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import READERS, Block, Files, Items
from hashbench.scoring.relevance.labels import Labels

WRONG_CHECKSUM = "its content has another checksum than when it was written"


@dataclass(frozen=True, eq=False)
class DatasetLabels:
    """The labels, as in :class:`Dataset`, of a data set whose items are not read; ``sha256`` is of the labels alone."""

    name: str
    labels: Labels
    names: stored_file.Names
    sha256: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set; the id of an item is its row number."""

    name: str
    items: Items  # mapped from the disk if they exceed 1 GiB, so read them in blocks
    labels: Labels  # uint8[n, 0] without labels
    sha256: str
    names: stored_file.Names = None  # the file names of the items


def path_of(card: Card) -> Path:
    """The path of the converted data set, whether it exists or not."""
    return paths.data() / card.name / f"{card.name}.h5"


def labels_path_of(card: Card) -> Path:
    """The path of the labels that are stored without the items, whether it exists or not."""
    return paths.data() / card.name / f"{card.name}.labels.h5"


def path_with_labels(card: Card) -> Path:
    """The path of the converted data set if it exists, else that of its labels alone."""
    if path_of(card).is_file():
        return path_of(card)
    return labels_path_of(card)


def open_dataset(card: Card) -> Dataset:
    """The data set of ``card``; raises HashbenchError if it is not downloaded, damaged or not what the card says."""
    if card.embedded:
        return _embedded(card)
    path = path_of(card)
    if not path.is_file() and card.custom:
        raise HashbenchError(f"{path}: the data of {card.name} are gone: run {card.how_to_get}")
    if not path.is_file():
        raise HashbenchError(f"{card.name} is not downloaded: run hashbench download {card.name} (or --from-dir DIR)")
    return cast("Dataset", once("data", path, card, lambda: _opened(card, path)))


def _opened(card: Card, path: Path) -> Dataset:
    with stored_file.opened(path, card.how_to_get) as file:
        labels, names = stored_file.read_labels(card, file)
        items = stored_file.read_items(card, file, path)
        data = Dataset(card.name, items, labels, str(file.attrs["content_sha256"]), names)
        stored_file.require_stated(card, labels, data.sha256)
        if not isinstance(items, np.memmap) and stored_file.content_sha256(items, labels) != data.sha256:
            raise ValueError(WRONG_CHECKSUM)
        return data


def _embedded(card: Card) -> Dataset:
    with _fitting(card):
        blocks = list(_within(card, READERS.get(card.reader).read(card, Files(()))))
    items = cast("Items", np.concatenate([block.items for block in blocks if block.items is not None]))
    labels = np.concatenate([block.labels for block in blocks])
    sha256 = stored_file.content_sha256(items, labels)
    with retold(lambda fault: f"{card.name}: {fault}", ValueError):
        stored_file.require_stated(card, labels, sha256)
    return Dataset(card.name, items, labels, sha256)


def open_labels(card: Card) -> DatasetLabels:
    """The labels of the data set, which are enough on the disk; raises as :func:`open_dataset` does."""
    path = path_with_labels(card)
    if not path.is_file():
        data = open_dataset(card)
        return DatasetLabels(card.name, data.labels, data.names, stored_file.array_sha256(data.labels))
    with stored_file.opened(path, card.how_to_get) as file:
        labels, names = stored_file.read_labels(card, file)
        stored_file.require_stated(card, labels, None)
        sha256 = stored_file.array_sha256(labels)
        # the file states the checksum of its labels if it has no items
        if path == labels_path_of(card) and sha256 != file.attrs["content_sha256"]:
            raise ValueError(WRONG_CHECKSUM)
        return DatasetLabels(card.name, labels, names, sha256)


def stated_sha256(card: Card) -> str:
    """The checksum that the file of a data set states for its content; for one without a file, computed."""
    if not path_of(card).is_file():
        return open_dataset(card).sha256
    with stored_file.opened(path_of(card), card.how_to_get) as file:
        return str(file.attrs["content_sha256"])


def verify(card: Card, progress: Callable[[int], object] = int) -> Dataset:
    """The data set, with every byte checked; ``progress`` is called with the number of bytes since its last call."""
    data = open_dataset(card)
    if stored_file.content_sha256(data.items, data.labels, progress) != data.sha256:
        raise stored_file.damaged(path_of(card), card.how_to_get, WRONG_CHECKSUM)
    return data


def write(
    card: Card,
    blocks: Iterable[Block],
    sources: Mapping[str, str | None],
    *,
    labels_only: bool = False,
    check: Callable[[Items], None] | None = None,
) -> Path:
    """The path of the file with the blocks of a reader and the checksums of its ``sources``; none after an error.

    ``check`` is called with all items, mapped from the disk, before the file gets its name.
    """
    path = path_of(card)
    if labels_only:
        path = labels_path_of(card)
    # HDF5 raises RuntimeError if the disk is full when it closes the file
    with (
        retold(lambda cause: f"{path}: cannot be written ({cause})", OSError, RuntimeError),
        _fitting(card),
        atomic(path) as temporary,
        h5py.File(temporary, "w") as file,
    ):
        sha256 = _fill(card, file, blocks, labels_only)
        file.attrs.update(card=card.name, sources=canonical_json(dict(sources)), content_sha256=sha256)
        if check is not None:
            file.flush()
            check(stored_file.read_items(card, file, temporary, 0))
    return path


def _fitting(card: Card) -> AbstractContextManager[None]:
    """Turns the errors of NumPy and HDF5 about items of another shape or number than the card's into HashbenchError."""
    where = f"{card.name}: its files do not fit its card (item_shape {card.item_shape}, n_items {card.n_items})"
    return retold(lambda cause: f"{where}: {cause}", ArithmeticError, MemoryError, TypeError, ValueError)


def _fill(card: Card, file: h5py.File, blocks: Iterable[Block], labels_only: bool) -> str:
    """The checksum of the content, after the blocks were written one by one and compared with the card."""
    digest = hashlib.sha256()
    items = None
    if not labels_only:
        items = file.create_dataset("items", (card.n_items, *card.item_shape), card.dtype)
        digest.update(stored_file.head(items))
    labels = stored_file.empty_labels(card)
    names = []
    n = 0
    for block in _within(card, blocks):
        end = n + len(block.labels)
        labels[n:end] = block.labels
        if block.names is not None:
            names.append(block.names)
        if items is not None:
            items[n:end] = block.items
            digest.update(stored_file.content_bytes(cast("Items", block.items)))
        n = end
    digest.update(stored_file.head(labels) + stored_file.content_bytes(labels))
    file["labels"] = labels[:n]
    if names:
        file["names"] = np.concatenate(names)
        file.attrs["names_sha256"] = stored_file.array_sha256(file["names"][:])
    sha256 = digest.hexdigest()
    with retold(lambda fault: f"{card.name}: {fault}", ValueError):
        stored_file.require_stated(card, labels[:n], None if labels_only else sha256)
    return sha256


def _within(card: Card, blocks: Iterable[Block]) -> Iterator[Block]:
    """Passes the blocks on; raises HashbenchError if they have more items than the card states."""
    n = 0
    for block in blocks:
        n += len(block.labels)
        if n > card.n_items:
            raise HashbenchError(f"{card.name}: more than the {card.n_items} items that the card states")
        yield block
