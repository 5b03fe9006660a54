"""The store of converted data: one HDF5 file a data set, its items in one unbroken run of bytes.

Unbroken, and not in compressed chunks, so that NumPy maps them: any worker reads any image with one copy and no lock,
a set larger than memory is opened like a small one, and the operating system keeps what is read often.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from hashbench import paths
from hashbench.affinity import Labels
from hashbench.config import canonical_json
from hashbench.datasets.card import Card, load_card
from hashbench.datasets.readers import READERS
from hashbench.datasets.readers._reader import Block, Files, Items
from hashbench.errors import HashbenchError, one_line
from hashbench.files import atomic

if TYPE_CHECKING:
    import h5py

# What is read into memory, and its checksum verified, each time it is opened: half a second at most.
# More is mapped, and verified byte for byte by `download` alone.
IN_MEMORY_BYTES = 1 << 30
HASHED_BYTES = 16 << 20  # between two signs of progress
MOST_NAME_BYTES = 4096  # of an item's file name

WRONG_CHECKSUM = "its content has another checksum than when it was written"
Names = NDArray[np.bytes_] | None


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
    no column where there are no labels. ``sha256`` is the checksum of both (:func:`content_sha256`).
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
        return Labelled(card.name, data.labels, data.names, labels_sha256(data.labels))
    with _open(card, path) as file:
        labels, names = _labels_of(card, file)
        stated = str(file.attrs["content_sha256"])  # of the labels, where they are all the file has
    if fault := next(_faults(card, labels, None), None):
        raise _damaged(path, card, fault)
    if path == labels_path_of(card) and labels_sha256(labels) != stated:
        raise _damaged(path, card, WRONG_CHECKSUM)
    return Labelled(card.name, labels, names, labels_sha256(labels))


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
        with _open(card, path) as file:
            sha256 = _head_of(card, file, path)
    except HashbenchError as error:
        return Standing("damaged", path, size, fault=str(error))
    if path == labels_path_of(card):
        return Standing("labels only", path, size)
    return Standing("stored", path, size, sha256, sha256 == card.content_sha256)


def _head_of(card: Card, file: "h5py.File", path: Path) -> str:
    """The checksum that the file states, its labels and items being of the card's shapes and types."""
    empty = _empty_labels(card)
    _require(file["labels"], empty.shape, empty.dtype)
    _require_names(card, file)
    sha256 = str(file.attrs["content_sha256"])
    if path == path_of(card):
        _offset_of(card, file, path)
        if card.content_sha256 not in (None, sha256):
            raise ValueError(_other_content(card, sha256))
    return sha256


def _other_content(card: Card, sha256: str) -> str:
    return f"the content has checksum {sha256[:12]}; the card states {str(card.content_sha256)[:12]}"


def verify(name: str, progress: Callable[[int], object] = int) -> Dataset:
    """The data set called ``name`` after every byte has been checked; raises HashbenchError where one is wrong.

    ``progress`` is told how many bytes have been hashed since it was told last.
    """
    data = open_dataset(name)
    if content_sha256(data.items, data.labels, progress) != data.sha256:
        raise _damaged(path_of(load_card(name)), load_card(name), WRONG_CHECKSUM)
    return data


def content_sha256(items: Items, labels: Labels, progress: Callable[[int], object] = int) -> str:
    """SHA-256 (hex) of items, then labels: each a line with type and shape, then little-endian bytes in C order."""
    digest = hashlib.sha256()
    for array in (items, labels):
        digest.update(_head(array))
        whole = _bytes(array)
        for first in range(0, len(whole), HASHED_BYTES):
            digest.update(block := whole[first : first + HASHED_BYTES])
            progress(len(block))
    return digest.hexdigest()


def labels_sha256(labels: Labels) -> str:
    """The same of the labels alone."""
    return hashlib.sha256(_head(labels) + _bytes(labels)).hexdigest()


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
    digest, labels, names, n = hashlib.sha256(), _empty_labels(card), [], 0
    digest.update(b"" if items is None else _head(items))
    for block in _within(card, blocks):
        end = n + len(block.labels)
        labels[n:end] = block.labels
        names += [] if block.names is None else [block.names]
        if items is not None:
            items[n:end] = block.items
            digest.update(_bytes(cast("Items", block.items)))
        n = end
    digest.update(_head(labels) + _bytes(labels))
    file["labels"] = labels[:n]
    if names:
        file["names"] = np.concatenate(names)
    content = None if items is None else (items, digest.hexdigest())
    if fault := next(_faults(card, labels[:n], content), None):
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
    if fault := next(_faults(card, labels, (items, data.sha256)), None):
        raise HashbenchError(f"{card.name}: {fault}")
    return data


def _stored(card: Card) -> Dataset:
    path = path_of(card)
    if not path.is_file():
        raise HashbenchError(f"{card.name} is not downloaded: run hashbench download {card.name} (or --from-dir DIR)")
    with _open(card, path) as file:
        labels, names = _labels_of(card, file)
        items = _items_of(card, file, path)
        data = Dataset(card.name, items, labels, str(file.attrs["content_sha256"]), names)
    if fault := next(_faults(card, labels, (items, data.sha256)), None):
        raise _damaged(path, card, fault)
    if not isinstance(items, np.memmap) and content_sha256(items, labels) != data.sha256:
        raise _damaged(path, card, WRONG_CHECKSUM)
    return data


@contextmanager
def _open(card: Card, path: Path) -> "Iterator[h5py.File]":
    """The file, open; whatever goes wrong with it inside the block is damage."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise _damaged(path, card, one_line(error)) from None


def _labels_of(card: Card, file: "h5py.File") -> tuple[Labels, Names]:
    empty = _empty_labels(card)
    _require(file["labels"], empty.shape, empty.dtype)
    _require_names(card, file)
    return file["labels"][:], file["names"][:] if "names" in file else None


def _require_names(card: Card, file: "h5py.File") -> None:
    """Where items have names, each has one, of bytes and no longer than a path may be."""
    if "names" not in file:
        return
    names = file["names"]
    if names.dtype.kind != "S" or names.dtype.itemsize > MOST_NAME_BYTES:
        raise ValueError(f"names are {names.dtype}, not bytes")
    _require(names, (card.n_items,), names.dtype)


def _items_of(card: Card, file: "h5py.File", path: Path) -> Items:
    offset, stored = _offset_of(card, file, path), file["items"]
    if stored.nbytes <= IN_MEMORY_BYTES:
        return cast("Items", stored[:])
    return cast("Items", np.memmap(path, card.dtype, "r", offset, stored.shape))


def _offset_of(card: Card, file: "h5py.File", path: Path) -> int:
    """Where the items begin in the file, which holds them all as one run of bytes; raises ValueError otherwise."""
    stored = file["items"]
    _require(stored, (card.n_items, *card.item_shape), card.dtype)
    offset = stored.id.get_offset()
    if offset is None:
        raise ValueError("the items are not one run of bytes")
    if offset + stored.nbytes > path.stat().st_size:
        raise ValueError("the items end before they should")
    return int(offset)


def _require(stored: "h5py.Dataset", shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Asked before a byte is read: a wrong shape could ask for any memory."""
    if (stored.shape, stored.dtype) != (shape, dtype):
        raise ValueError(f"{stored.name[1:]} are {stored.dtype} {stored.shape}, not {dtype} {shape}")


def _faults(card: Card, labels: Labels, content: "tuple[Items | h5py.Dataset, str] | None") -> Iterator[str]:
    """In what the labels, and the items and checksum where these are here, are not what the card says."""
    if len(labels) != card.n_items:
        yield f"{len(labels)} items; the card states {card.n_items}"
    yield from _label_faults(card, labels)
    for probe in card.probes:
        if probe.label is not None and labels[probe.id] != probe.label:
            yield f"item {probe.id} has label {labels[probe.id]}; the card states {probe.label}"
        if content and hashlib.sha256(content[0][probe.id].tobytes()).hexdigest() != probe.sha256:
            yield f"item {probe.id} has other bytes than the card states"
    if card.labels_sha256 not in (None, labels_sha256(labels)):
        yield f"the labels have checksum {labels_sha256(labels)[:12]}; the card states {str(card.labels_sha256)[:12]}"
    if content and card.content_sha256 not in (None, content[1]):
        yield _other_content(card, content[1])


def _label_faults(card: Card, labels: Labels) -> Iterator[str]:
    highest = 1 if labels.ndim == 2 else card.n_classes - 1
    if labels.min(initial=0) < 0 or labels.max(initial=0) > highest:
        yield f"labels from {labels.min()} to {labels.max()}; 0 to {highest} exist"
    counts = labels.sum(axis=0, dtype=np.int64) if labels.ndim == 2 else np.bincount(labels, minlength=card.n_classes)
    if card.class_counts is not None and counts.tolist() != card.class_counts:
        yield f"class counts are {counts.tolist()}; the card states {card.class_counts}"


def _empty_labels(card: Card) -> Labels:
    """Room for the labels: a class an item, or a column a label."""
    if card.labels == "class":
        return np.empty(card.n_items, np.int64)
    return np.zeros((card.n_items, card.n_classes), np.uint8)


def _head(array: "NDArray[Any] | h5py.Dataset") -> bytes:
    return f"{array.dtype.name} {','.join(map(str, array.shape))}\n".encode()


def _bytes(array: NDArray[Any]) -> memoryview:
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data


def _damaged(path: Path, card: Card, reason: str) -> HashbenchError:
    return HashbenchError(f"{path}: damaged ({reason}): run hashbench download {card.name} again")
