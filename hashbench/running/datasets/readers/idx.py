"""MNIST's idx files: a magic number, the lengths of the axes, then bytes; one file of labels, then one of images."""

import struct
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block, Files, Reader, after_labels, class_ids

UNSIGNED_BYTES = 8  # the type in the magic number; its lowest byte is the number of axes


def _read(card: Card, files: Files) -> Iterator[Block]:
    def read_labels(path: str, file: BinaryIO) -> NDArray[np.int64]:
        return class_ids(card, path, _array(path, file, n_axes=1))

    for labels, path, file in after_labels(files, read_labels):
        images = _array(path, file, n_axes=3)
        if images.shape != (len(labels), *card.item_shape[:2]):
            raise HashbenchError(f"{path}: images {images.shape}; {len(labels)} of {card.item_shape} are due")
        yield Block(images.reshape(len(labels), *card.item_shape), labels)


def _array(path: str, file: BinaryIO, n_axes: int) -> NDArray[np.uint8]:
    expected = f"an idx file of bytes with {n_axes} axes is expected"
    with retold(lambda cause: f"{path}: {cause}: {expected}", struct.error, ValueError):
        magic, *shape = struct.unpack(f">{1 + n_axes}I", file.read(4 + 4 * n_axes))
        if magic != UNSIGNED_BYTES << 8 | n_axes:
            raise ValueError(f"it begins with {magic:#x}")
        return np.frombuffer(file.read(), np.uint8).reshape(shape)


READER = Reader(_read)
