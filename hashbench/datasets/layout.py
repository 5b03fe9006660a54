"""How a converted data set lies in its HDF5 file, and how it is read from there without being trusted.

``items`` are one unbroken run of bytes, ``labels`` and perhaps ``names`` stand beside them; the attributes
``content_sha256`` and ``names_sha256`` say what they were when they were written.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Card
from hashbench.datasets.checksums import array_sha256
from hashbench.datasets.readers import Items
from hashbench.errors import HashbenchError, one_line
from hashbench.relevance.labels import Labels

if TYPE_CHECKING:
    import h5py

# What is read into memory, and its checksum verified, each time it is opened: half a second at most.
# More is mapped, and verified byte for byte by `download` alone.
IN_MEMORY_BYTES = 1 << 30
MOST_NAME_BYTES = 4096  # of an item's file name

Names = NDArray[np.bytes_] | None


@contextmanager
def opened(card: Card, path: Path) -> "Iterator[h5py.File]":
    """The file, open; whatever goes wrong with it inside the block is damage."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise damaged(path, card, one_line(error)) from None


def labels_of(card: Card, file: "h5py.File") -> tuple[Labels, Names]:
    """Labels and names, of the card's shapes and types; raises ValueError else."""
    empty = empty_labels(card)
    require(file["labels"], empty.shape, empty.dtype)
    require_names(card, file)
    return file["labels"][:], _names_of(file)


def _names_of(file: "h5py.File") -> Names:
    if "names" not in file:
        return None
    names: NDArray[np.bytes_] = file["names"][:]
    if array_sha256(names) != file.attrs["names_sha256"]:
        raise ValueError("the names have another checksum than when they were written")
    return names


def require_names(card: Card, file: "h5py.File") -> None:
    """Where items have names, each has one, of bytes and no longer than a path may be."""
    if "names" not in file:
        return
    names = file["names"]
    if names.dtype.kind != "S" or names.dtype.itemsize > MOST_NAME_BYTES:
        raise ValueError(f"names are {names.dtype}, not bytes")
    require(names, (card.n_items,), names.dtype)


def items_of(card: Card, file: "h5py.File", path: Path) -> Items:
    """The items: read, or mapped where they are more than ``IN_MEMORY_BYTES``; raises ValueError as ``offset_of``."""
    offset, stored = offset_of(card, file, path), file["items"]
    if stored.nbytes <= IN_MEMORY_BYTES:
        return cast("Items", stored[:])
    return cast("Items", np.memmap(path, card.dtype, "r", offset, stored.shape))


def offset_of(card: Card, file: "h5py.File", path: Path) -> int:
    """Where the items begin in the file, which holds them all as one run of bytes; raises ValueError otherwise."""
    stored = file["items"]
    require(stored, (card.n_items, *card.item_shape), card.dtype)
    offset = stored.id.get_offset()
    if offset is None:
        raise ValueError("the items are not one run of bytes")
    if offset + stored.nbytes > path.stat().st_size:
        raise ValueError("the items end before they should")
    return int(offset)


def require(stored: "h5py.Dataset", shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Asked before a byte is read: a wrong shape could ask for any memory."""
    if (stored.shape, stored.dtype) != (shape, dtype):
        raise ValueError(f"{stored.name[1:]} are {stored.dtype} {stored.shape}, not {dtype} {shape}")


def empty_labels(card: Card) -> Labels:
    """Room for the labels: a class an item, or a column a label."""
    if card.labels == "class":
        return np.empty(card.n_items, np.int64)
    return np.zeros((card.n_items, card.n_classes), np.uint8)


def damaged(path: Path, card: Card, reason: str) -> HashbenchError:
    """The error that says what is wrong with the file and the command that mends it."""
    return HashbenchError(f"{path}: damaged ({reason}): run hashbench download {card.name} again")
