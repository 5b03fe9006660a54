"""STL-10's binary files: a byte for each class, from 1; images of three planes, each stored column by column."""

from collections.abc import Iterator
from math import prod
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block, Files, Reader, after_labels, class_ids


def _read(card: Card, files: Files) -> Iterator[Block]:
    def read_labels(path: str, file: BinaryIO) -> NDArray[np.int64]:
        return class_ids(card, path, np.frombuffer(file.read(card.n_items + 1), np.uint8), first=1)

    height, width, channels = card.item_shape
    for labels, path, file in after_labels(files, read_labels):
        planes = np.frombuffer(file.read(), np.uint8)
        if planes.size != len(labels) * prod(card.item_shape):
            raise HashbenchError(f"{path}: {planes.size:,} bytes are not the {len(labels)} images that have a label")
        columns = planes.reshape(-1, channels, width, height)
        yield Block(np.ascontiguousarray(columns.transpose(0, 3, 2, 1)), labels)


READER = Reader(_read)
