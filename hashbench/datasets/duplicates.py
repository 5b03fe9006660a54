"""Duplicates: items of one list that another list also holds, byte for byte or by file name."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.draw import Ids
from hashbench.datasets.readers import Items

Keys = NDArray[np.uint64] | NDArray[np.bytes_]
BLOCK_BYTES = 16 << 20  # of items, in memory at once


def byte_keys(items: Items) -> NDArray[np.uint64]:
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


def find_duplicates(keys: Keys, ids: Ids, others: Ids, items: Items | None = None) -> list[tuple[int, int]]:
    """(item, its first duplicate) for the items of ``ids`` whose key an item of ``others`` has too.

    Both lists are sorted and share no id. With ``items``, only pairs whose bytes are equal, and not only their keys.

    >>> find_duplicates(np.array([7, 8, 7, 7], np.uint64), np.array([0, 1]), np.array([2, 3]))
    [(0, 2)]
    """
    order = np.argsort(keys[others], kind="stable")
    theirs = keys[others][order]
    at = np.searchsorted(theirs, keys[ids])
    found = at < len(theirs)
    found[found] = theirs[at[found]] == keys[ids][found]
    pairs = list(zip(ids[found].tolist(), others[order[at[found]]].tolist(), strict=True))
    return [(a, b) for a, b in pairs if items is None or items[a].tobytes() == items[b].tobytes()]
