"""The layout of the HDF5 file of a converted data set, and its checks: every value of the file is checked before use.

The file has the arrays ``items`` (contiguous, not chunked), ``labels`` and, for some data sets, ``names``. The
attributes ``content_sha256`` and ``names_sha256`` are the checksums at the time of writing.
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
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.relevance.labels import Labels

if TYPE_CHECKING:
    import h5py

# Items up to this size are read into memory, and their checksum is verified each time: half a second at most.
# Larger ones are memory-mapped; only `hashbench download` and `hashbench doctor --verify` check all their bytes.
IN_MEMORY_BYTES = 1 << 30
MOST_NAME_BYTES = 4096  # of an item's file name

Names = NDArray[np.bytes_] | None


@contextmanager
def opened(card: Card, path: Path) -> "Iterator[h5py.File]":
    """The open file; any error inside the ``with`` block is raised as that of a damaged file."""
    import h5py

    try:
        with h5py.File(path, "r") as file:
            yield file
    except (
        OSError,
        ArithmeticError,
        AttributeError,
        KeyError,
        MemoryError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise damaged(path, card, one_line(error)) from None


def labels_of(card: Card, file: "h5py.File") -> tuple[Labels, Names]:
    """The labels and names; raises ValueError if their shapes or types are not those of the card."""
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
    """Raises ValueError unless ``names`` is absent, or has for each item one name that is no longer than a path."""
    if "names" not in file:
        return
    names = file["names"]
    if names.dtype.kind != "S" or names.dtype.itemsize > MOST_NAME_BYTES:
        raise ValueError(f"names are {names.dtype}, not bytes")
    require(names, (card.n_items,), names.dtype)


def items_of(card: Card, file: "h5py.File", path: Path) -> Items:
    """The items, memory-mapped if they are larger than ``IN_MEMORY_BYTES``; raises ValueError as ``offset_of`` does."""
    offset, stored = offset_of(card, file, path), file["items"]
    if stored.nbytes <= IN_MEMORY_BYTES:
        return cast("Items", stored[:])
    return cast("Items", np.memmap(path, card.dtype, "r", offset, stored.shape))


def offset_of(card: Card, file: "h5py.File", path: Path) -> int:
    """The position of the first item in the file, in bytes; raises ValueError unless the items are contiguous."""
    stored = file["items"]
    require(stored, (card.n_items, *card.item_shape), card.dtype)
    offset = stored.id.get_offset()
    if offset is None:
        raise ValueError("the items are not one run of bytes")
    if offset + stored.nbytes > path.stat().st_size:
        raise ValueError("the items end before they should")
    return int(offset)


def require(stored: "h5py.Dataset", shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raises ValueError for another shape or type; called before reading, as a wrong shape may need any memory."""
    if (stored.shape, stored.dtype) != (shape, dtype):
        raise ValueError(f"{stored.name[1:]} are {stored.dtype} {stored.shape}, not {dtype} {shape}")


def empty_labels(card: Card) -> Labels:
    """An array for the labels: a class for each item, or a column for each label."""
    if card.labels == "class":
        return np.empty(card.n_items, np.int64)
    return np.zeros((card.n_items, card.n_classes), np.uint8)


def damaged(path: Path, card: Card, reason: str) -> HashbenchError:
    """The error that says what is wrong with the file and which command repairs it."""
    return HashbenchError(f"{path}: damaged ({reason}): run {card.how_to_get} again")
