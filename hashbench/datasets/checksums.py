"""Checksums of items, labels and names; they are the same on every machine."""

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.readers import Items
from hashbench.relevance.labels import Labels

if TYPE_CHECKING:
    import h5py

HASHED_BYTES = 16 << 20  # between two calls of ``progress``


def content_sha256(items: Items, labels: Labels, progress: Callable[[int], object] = int) -> str:
    """SHA-256 (hex) of the items and then the labels, each as its :func:`head` and its :func:`content_bytes`."""
    digest = hashlib.sha256()
    for array in (items, labels):
        digest.update(head(array))
        whole = content_bytes(array)
        for first in range(0, len(whole), HASHED_BYTES):
            digest.update(block := whole[first : first + HASHED_BYTES])
            progress(len(block))
    return digest.hexdigest()


def array_sha256(array: NDArray[Any]) -> str:
    """SHA-256 (hex) of one array, as its :func:`head` and its :func:`content_bytes`."""
    return hashlib.sha256(head(array) + content_bytes(array)).hexdigest()


def head(array: "NDArray[Any] | h5py.Dataset") -> bytes:
    """The line that is hashed before the bytes of an array: its type and its shape."""
    return f"{array.dtype.name} {','.join(map(str, array.shape))}\n".encode()


def content_bytes(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, little-endian and in C order."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data
