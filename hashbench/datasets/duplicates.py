"""Duplicates: items of one list that another list also holds, byte for byte or by file name."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.draw import Ids
from hashbench.datasets.readers import Items

Keys = NDArray[np.uint64]
BLOCK_BYTES = 16 << 20  # of items, in memory at once


def byte_keys(items: Items) -> Keys:
    """A key for each item, uint64[n]: equal items have equal keys; different items have equal keys with chance 2^-64.

    The key is the first 8 bytes of the BLAKE2b digest of the item. Items are read in order, some MiB at a time.
    """
    keys = np.empty(len(items), "<u8")
    step = max(1, BLOCK_BYTES // max(1, items[:1].nbytes))
    for first in range(0, len(items), step):
        block = np.ascontiguousarray(items[first : first + step])
        rows = block.reshape(len(block), -1).view(np.uint8)
        digests = b"".join([hashlib.blake2b(row.data, digest_size=8).digest() for row in rows])
        keys[first : first + step] = np.frombuffer(digests, "<u8")
    return keys.astype(np.uint64, copy=False)


@dataclass(frozen=True)
class Duplicates:
    """Items ``ids`` of one list, sorted, and for each the id of its first duplicate in another list."""

    ids: Ids
    duplicate_ids: Ids

    def __len__(self) -> int:
        return len(self.ids)

    def first(self, n: int) -> list[tuple[int, int]]:
        """The first ``n`` pairs."""
        return list(zip(self.ids[:n].tolist(), self.duplicate_ids[:n].tolist(), strict=True))


def find_duplicates(keys: NDArray[np.uint64] | NDArray[np.bytes_], ids: Ids, others: Ids) -> Duplicates:
    """The items of ``ids`` whose key an item of ``others`` has too; both lists are sorted and share no id.

    >>> found = find_duplicates(np.array([7, 8, 7, 7], np.uint64), np.array([0, 1]), np.array([2, 3]))
    >>> found.first(5)
    [(0, 2)]
    """
    order = np.argsort(keys[others], kind="stable")
    theirs = keys[others][order]
    at = np.searchsorted(theirs, keys[ids])
    found = at < len(theirs)
    found[found] = theirs[at[found]] == keys[ids][found]
    return Duplicates(ids[found], others[order[at[found]]])


def with_same_bytes(items: Items, found: Duplicates) -> Duplicates:
    """The duplicates whose bytes, and not only their keys, are equal."""
    is_same = [items[one].tobytes() == items[other].tobytes() for one, other in found.first(len(found))]
    keep = np.array(is_same, np.bool_)
    return Duplicates(found.ids[keep], found.duplicate_ids[keep])
