"""STL-10's binary files: a byte for each class, from 1; images of three planes, each stored column by column."""

from collections.abc import Iterator
from math import prod
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block, Files, Reader, after_labels, class_ids

BLOCK = 1000  # images; 28 MB


def _read(card: Card, files: Files) -> Iterator[Block]:
    def read_labels(path: str, file: BinaryIO) -> NDArray[np.int64]:
        return class_ids(card, path, np.frombuffer(file.read(card.n_items + 1), np.uint8), first=1)

    for labels, path, file in after_labels(files, read_labels):
        yield from _images(card, path, file, labels)


def _images(card: Card, path: str, file: BinaryIO, labels: NDArray[np.int64]) -> Iterator[Block]:
    height, width, channels = card.item_shape
    for rows in slices(len(labels), BLOCK):
        due = labels[rows]
        planes = np.frombuffer(file.read(len(due) * prod(card.item_shape)), np.uint8)
        if planes.size != len(due) * prod(card.item_shape):
            raise HashbenchError(f"{path}: fewer than the {len(labels)} images that have a label")
        columns = planes.reshape(-1, channels, width, height)
        yield Block(np.ascontiguousarray(columns.transpose(0, 3, 2, 1)), due)
    if file.read(1):
        raise HashbenchError(f"{path}: more than the {len(labels)} images that have a label")


READER = Reader(_read)
