"""The HDF5 file of a stored data set: its arrays, its checksums, and what is compared with the card."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import h5py
import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.parallel import slices
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Items
from hashbench.scoring.relevance.labels import Labels

# Items up to this size are read into memory, and their checksum is verified each time: half a second at most.
# Larger ones are memory-mapped; only `hashbench download` and `hashbench doctor --verify` check all their bytes.
IN_MEMORY_BYTES = 1 << 30
HASHED_BYTES = 16 << 20  # between two calls of ``progress``
MOST_NAME_BYTES = 4096  # of an item's file name
DAMAGE = (OSError, ArithmeticError, AttributeError, KeyError, MemoryError, RuntimeError, TypeError, ValueError)

Names = NDArray[np.bytes_] | None


def content_sha256(items: Items, labels: Labels, progress: Callable[[int], object] = int) -> str:
    """SHA-256 (hex) of the items and then the labels, each as its :func:`head` and its :func:`content_bytes`."""
    digest = hashlib.sha256()
    for array in (items, labels):
        digest.update(head(array))
        whole = content_bytes(array)
        for part in slices(len(whole), HASHED_BYTES):
            digest.update(whole[part])
            progress(len(whole[part]))
    return digest.hexdigest()


def array_sha256(array: NDArray[Any]) -> str:
    """SHA-256 (hex) of one array, as its :func:`head` and its :func:`content_bytes`."""
    return hashlib.sha256(head(array) + content_bytes(array)).hexdigest()


def head(array: NDArray[Any] | h5py.Dataset) -> bytes:
    """The line that is hashed before the bytes of an array: its type and its shape."""
    return f"{array.dtype.name} {','.join(map(str, array.shape))}\n".encode()


def content_bytes(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, little-endian and in C order."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data


@contextmanager
def opened(path: Path, how_to_get: str) -> Iterator[h5py.File]:
    """The open file; any error inside the ``with`` block is raised as the error of a damaged file."""
    with retold(lambda cause: str(damaged(path, how_to_get, cause)), *DAMAGE), h5py.File(path, "r") as file:
        yield file


def damaged(path: Path, how_to_get: str, reason: str) -> HashbenchError:
    """The error that says what is wrong with the file and which command repairs it."""
    return HashbenchError(f"{path}: damaged ({reason}): run {how_to_get} again")


def check_labels(card: Card, file: h5py.File) -> None:
    """Raises ValueError if the shapes or types of labels and names are not what the card says."""
    empty = empty_labels(card)
    _require(file["labels"], empty.shape, empty.dtype)
    if "names" in file:
        dtype = file["names"].dtype
        if dtype.kind != "S" or dtype.itemsize > MOST_NAME_BYTES:
            raise ValueError(f"names are {dtype}, not bytes")
        _require(file["names"], (card.n_items,), dtype)


def read_labels(card: Card, file: h5py.File) -> tuple[Labels, Names]:
    """The labels, and the names of the items if there are any; raises ValueError if they are damaged."""
    check_labels(card, file)
    if "names" not in file:
        return file["labels"][:], None
    names = file["names"][:]
    if array_sha256(names) != file.attrs["names_sha256"]:
        raise ValueError("the names have another checksum than when they were written")
    return file["labels"][:], names


def read_items(card: Card, file: h5py.File, path: Path, in_memory_bytes: int | None = None) -> Items:
    """The items, memory-mapped if they have more bytes than that; raises ValueError unless they are contiguous."""
    stored = file["items"]
    _require(stored, (card.n_items, *card.item_shape), card.dtype)
    offset = stored.id.get_offset()
    if offset is None or offset + stored.nbytes > path.stat().st_size:
        raise ValueError("the items are not one whole run of bytes")
    if in_memory_bytes is None:
        in_memory_bytes = IN_MEMORY_BYTES
    if stored.nbytes <= in_memory_bytes:
        return cast("Items", stored[:])
    return cast("Items", np.memmap(path, card.dtype, "r", offset, stored.shape))


def _require(stored: h5py.Dataset, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raises ValueError for another shape or type; called before reading, as a wrong shape may need any memory."""
    if (stored.shape, stored.dtype) != (shape, dtype):
        raise ValueError(f"{stored.name[1:]} are {stored.dtype} {stored.shape}, not {dtype} {shape}")


def empty_labels(card: Card) -> Labels:
    """An array for the labels: a class for each item, or a column for each label."""
    if card.labels == "class":
        return np.empty(card.n_items, np.int64)
    return np.zeros((card.n_items, card.n_classes), np.uint8)


def label_counts(labels: Labels, n_classes: int = 0) -> NDArray[np.int64]:
    """The number of items in each class, of class ids [n], or with each label, of [n, labels]; int64[classes]."""
    if labels.ndim == 2:
        return labels.sum(axis=0, dtype=np.int64)
    return np.bincount(labels[labels >= 0], minlength=n_classes)


def require_stated(card: Card, labels: Labels, content: str | None) -> None:
    """Raises ValueError unless the labels, and the checksum of the ``content`` if there is any, are as stated."""
    if len(labels) != card.n_items:
        raise ValueError(f"{len(labels)} items; the card states {card.n_items}")
    lowest = -1 if card.custom else 0  # -1: an item without a class
    highest = card.n_classes - 1
    if labels.ndim == 2:
        highest = 1
    if labels.min(initial=0) < lowest or labels.max(initial=0) > highest:
        raise ValueError(f"labels from {labels.min()} to {labels.max()}; {lowest} to {highest} exist")
    counts = label_counts(labels, card.n_classes)
    if card.class_counts not in (None, counts.tolist()):
        raise ValueError(f"class counts are {counts.tolist()}; the card states {card.class_counts}")
    require_checksum("the labels have", array_sha256(labels), card.labels_sha256)
    if content is not None:
        require_checksum("the content has", content, card.content_sha256)


def require_checksum(what: str, sha256: str, stated: str | None) -> None:
    """Raises ValueError if the card states a checksum, and ``sha256`` is another."""
    if stated not in (None, sha256):
        raise ValueError(f"{what} checksum {sha256[:12]}; the card states {str(stated)[:12]}")
