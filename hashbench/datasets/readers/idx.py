"""MNIST's idx files: a magic number, the lengths of the axes, then bytes; one file of labels, then one of images."""

import struct
from collections.abc import Iterator
from math import prod
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Card
from hashbench.datasets.readers import Block, Files, Reader, after_labels, class_ids
from hashbench.foundation.errors import HashbenchError

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
    magic = struct.pack(">I", UNSIGNED_BYTES << 8 | n_axes)
    header = file.read(4 + 4 * n_axes)
    if len(header) != 4 + 4 * n_axes or not header.startswith(magic):
        raise HashbenchError(f"{path}: not an idx file of bytes with {n_axes} axes")
    shape = struct.unpack_from(f">{n_axes}I", header, 4)
    data = file.read()
    if len(data) != prod(shape):
        raise HashbenchError(f"{path}: {len(data)} bytes after the header; {shape} needs {prod(shape)}")
    return np.frombuffer(data, np.uint8).reshape(shape)


READER = Reader(_read)
