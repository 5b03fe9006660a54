"""The store of converted data: one HDF5 file a data set, its items in one unbroken run of bytes.

Unbroken, and not in compressed chunks, so that NumPy maps them: any worker reads any image with one copy and no lock,
a set larger than memory is opened like a small one, and the operating system keeps what is read often.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from hashbench import paths
from hashbench.config import canonical_json
from hashbench.datasets.card import Card, load_card
from hashbench.datasets.checksums import array_sha256, content_bytes, content_sha256, head
from hashbench.datasets.faults import faults, other_content
from hashbench.datasets.layout import (
    Names,
    damaged,
    empty_labels,
    items_of,
    labels_of,
    offset_of,
    opened,
    require,
    require_names,
)
from hashbench.datasets.readers import READERS, Block, Files, Items
from hashbench.errors import HashbenchError, one_line
from hashbench.files import atomic
from hashbench.relevance.labels import Labels

if TYPE_CHECKING:
    import h5py

WRONG_CHECKSUM = "its content has another checksum than when it was written"


@dataclass(frozen=True, eq=False)
class Labelled:
    """The labels of a data set: class ids int64[n], or uint8[n, labels] of 0 and 1; ``names`` of files, if it has any.

    ``sha256`` is the checksum of the labels.
    """

    name: str
    labels: Labels
    names: Names
    sha256: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set; an item's id is its row.

    ``items`` are uint8[n, height, width, channels] or float32[n, d]: in memory, or mapped from the disk where they
    are larger than 1 GiB (index them by blocks). ``labels`` are class ids int64[n], or uint8[n, labels] of 0 and 1 with
    no column where there are no labels. ``sha256`` is the checksum of both (``content_sha256``).
    """

    name: str
    items: Items
    labels: Labels
    sha256: str
    names: Names = None


@dataclass(frozen=True)
class Standing:
    """What is on the disk of a data set, by the head of its file and no more.

    ``sha256`` is what the file says of its content; it is ``pinned`` where the card states the same. ``fault`` says
    why a damaged file cannot be used.
    """

    state: Literal["embedded", "stored", "labels only", "missing", "damaged"]
    path: Path | None = None
    size_bytes: int = 0
    sha256: str | None = None
    pinned: bool = False
    fault: str | None = None


def path_of(card: Card) -> Path:
    """Where the converted data set lies, or would lie."""
    return paths.data() / card.name / f"{card.name}.h5"


def labels_path_of(card: Card) -> Path:
    """Where its labels lie, or would lie, when they are stored without the items."""
    return paths.data() / card.name / f"{card.name}.labels.h5"


def open_dataset(name: str) -> Dataset:
    """The data set called ``name``; its size, class counts and probes are checked against the card.

    Raises:
        HashbenchError: unknown, not downloaded, damaged, or not what the card says.
    """
    card = load_card(name)
    return _embedded(card) if card.embedded else _stored(card)


def open_labels(name: str) -> Labelled:
    """The labels of the data set called ``name``, also where its items are not here; raises HashbenchError as above."""
    card = load_card(name)
    path = path_of(card) if path_of(card).is_file() else labels_path_of(card)
    if not path.is_file():
        data = open_dataset(name)
        return Labelled(card.name, data.labels, data.names, array_sha256(data.labels))
    with opened(card, path) as file:
        labels, names = labels_of(card, file)
        stated = str(file.attrs["content_sha256"])  # of the labels, where they are all the file has
    if fault := next(faults(card, labels, None), None):
        raise damaged(path, card, fault)
    if path == labels_path_of(card) and array_sha256(labels) != stated:
        raise damaged(path, card, WRONG_CHECKSUM)
    return Labelled(card.name, labels, names, array_sha256(labels))


def standing(name: str) -> Standing:
    """What is there of the data set called ``name``; takes milliseconds, whatever its size.

    Of a stored one the shapes and types are compared with the card's, and the file's length with what they need:
    ``verify`` looks at the bytes.
    """
    card = load_card(name)
    if card.embedded:
        return Standing("embedded")
    path = next((path for path in (path_of(card), labels_path_of(card)) if path.is_file()), None)
    if path is None:
        return Standing("missing")
    size = path.stat().st_size
    try:
        with opened(card, path) as file:
            sha256 = _head_of(card, file, path)
    except HashbenchError as error:
        return Standing("damaged", path, size, fault=str(error))
    if path == labels_path_of(card):
        return Standing("labels only", path, size)
    return Standing("stored", path, size, sha256, sha256 == card.content_sha256)


def _head_of(card: Card, file: "h5py.File", path: Path) -> str:
    """The checksum that the file states, its labels and items being of the card's shapes and types."""
    empty = empty_labels(card)
    require(file["labels"], empty.shape, empty.dtype)
    require_names(card, file)
    sha256 = str(file.attrs["content_sha256"])
    if path == path_of(card):
        offset_of(card, file, path)
        if card.content_sha256 not in (None, sha256):
            raise ValueError(other_content(card, sha256))
    return sha256


def verify(name: str, progress: Callable[[int], object] = int) -> Dataset:
    """The data set called ``name`` after every byte has been checked; raises HashbenchError where one is wrong.

    ``progress`` is told how many bytes have been hashed since it was told last.
    """
    data = open_dataset(name)
    if content_sha256(data.items, data.labels, progress) != data.sha256:
        raise damaged(path_of(load_card(name)), load_card(name), WRONG_CHECKSUM)
    return data


def write(card: Card, blocks: Iterable[Block], sources: Mapping[str, str | None], *, labels_only: bool = False) -> Path:
    """Where the blocks of a reader now lie as one HDF5 file, whole, or nothing does.

    ``sources`` are the checksums of the files they were read from. The file holds ``items`` (unless ``labels_only``),
    ``labels`` and, where there are any, ``names``; and as attributes the card's name, those checksums and the
    content's.
    """
    import h5py

    path = labels_path_of(card) if labels_only else path_of(card)
    try:
        with atomic(path) as temporary, h5py.File(temporary, "w") as file:
            sha256 = _fill(card, file, blocks, labels_only)
            file.attrs.update(card=card.name, sources=canonical_json(dict(sources)), content_sha256=sha256)
    except OSError as error:
        raise HashbenchError(f"{path}: cannot be written ({one_line(error)})") from None
    return path


def _fill(card: Card, file: "h5py.File", blocks: Iterable[Block], labels_only: bool) -> str:
    """The checksum of the content, proven to be what the card says, once the blocks are written one by one."""
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
    if fault := next(faults(card, labels[:n], content), None):
        raise HashbenchError(f"{card.name}: {fault}")
    return digest.hexdigest()


def _within(card: Card, blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks, so long as they are no more items than the card states."""
    n = 0
    for block in blocks:
        n += len(block.labels)
        if n > card.n_items:
            raise HashbenchError(f"{card.name}: more than the {card.n_items} items that the card states")
        yield block


def _embedded(card: Card) -> Dataset:
    blocks = list(_within(card, READERS.get(card.reader).read(card, Files(()))))
    items = cast("Items", np.concatenate([block.items for block in blocks if block.items is not None]))
    data = Dataset(card.name, items, labels := np.concatenate([block.labels for block in blocks]), "")
    data = replace(data, sha256=content_sha256(items, labels))
    if fault := next(faults(card, labels, (items, data.sha256)), None):
        raise HashbenchError(f"{card.name}: {fault}")
    return data


def _stored(card: Card) -> Dataset:
    path = path_of(card)
    if not path.is_file():
        raise HashbenchError(f"{card.name} is not downloaded: run hashbench download {card.name} (or --from-dir DIR)")
    with opened(card, path) as file:
        labels, names = labels_of(card, file)
        items = items_of(card, file, path)
        data = Dataset(card.name, items, labels, str(file.attrs["content_sha256"]), names)
    if fault := next(faults(card, labels, (items, data.sha256)), None):
        raise damaged(path, card, fault)
    if not isinstance(items, np.memmap) and content_sha256(items, labels) != data.sha256:
        raise damaged(path, card, WRONG_CHECKSUM)
    return data
