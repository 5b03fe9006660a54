"""Duplicates: which items of one list are, byte for byte or by file name, items of another."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.draw import Ids
from hashbench.datasets.readers import Items

Keys = NDArray[np.uint64]
BLOCK_BYTES = 16 << 20  # of items, held together


def byte_keys(items: Items) -> Keys:
    """A number for each item, uint64[n]: equal items have equal ones, others do not but for one chance in 2^64.

    The first 8 bytes of the BLAKE2b digest of its bytes. Items are read in their order, some MiB at a time.
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
class Twins:
    """The items of one list that stand in another under another id: (their id, its first twin's), by their ids."""

    ids: Ids
    twin_ids: Ids

    def __len__(self) -> int:
        return len(self.ids)

    def first(self, n: int) -> list[tuple[int, int]]:
        """The first ``n`` pairs."""
        return list(zip(self.ids[:n].tolist(), self.twin_ids[:n].tolist(), strict=True))


def twins(keys: NDArray[np.uint64] | NDArray[np.bytes_], ids: Ids, others: Ids) -> Twins:
    """Those of ``ids`` whose key one of ``others`` has; both lists sorted, and without a common id.

    >>> found = twins(np.array([7, 8, 7, 7], np.uint64), np.array([0, 1]), np.array([2, 3]))
    >>> found.first(5)
    [(0, 2)]
    """
    order = np.argsort(keys[others], kind="stable")
    theirs = keys[others][order]
    at = np.searchsorted(theirs, keys[ids])
    found = at < len(theirs)
    found[found] = theirs[at[found]] == keys[ids][found]
    return Twins(ids[found], others[order[at[found]]])


def same_bytes(items: Items, found: Twins) -> Twins:
    """The twins whose bytes are the same indeed, and not their keys alone."""
    is_same = [items[one].tobytes() == items[other].tobytes() for one, other in found.first(len(found))]
    keep = np.array(is_same, np.bool_)
    return Twins(found.ids[keep], found.twin_ids[keep])
