"""STL-10's binary files: a byte for each class, from 1; images of three planes, each stored column by column.

The card lists each file of labels before its images, so that no images are kept in memory until the labels come.
"""

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Card
from hashbench.datasets.readers._reader import Block, Files, Reader, class_ids
from hashbench.foundation.errors import HashbenchError

BLOCK = 1000  # images; 28 MB


def _read(card: Card, files: Files) -> Iterator[Block]:
    labels: NDArray[np.int64] | None = None
    for member, file in files.members:
        if labels is None:
            labels = class_ids(card, member.path, np.frombuffer(file.read(card.n_items + 1), np.uint8), first=1)
            continue
        yield from _images(card, member.path, file, labels)
        labels = None


def _images(card: Card, path: str, file: BinaryIO, labels: NDArray[np.int64]) -> Iterator[Block]:
    height, width, channels = card.item_shape
    for start in range(0, len(labels), BLOCK):
        due = labels[start : start + BLOCK]
        planes = np.frombuffer(file.read(len(due) * height * width * channels), np.uint8)
        if planes.size != len(due) * height * width * channels:
            raise HashbenchError(f"{path}: ends before the last of the {len(labels)} images that have a label")
        columns = planes.reshape(-1, channels, width, height)
        yield Block(np.ascontiguousarray(columns.transpose(0, 3, 2, 1)), due)
    if file.read(1):
        raise HashbenchError(f"{path}: more than the {len(labels)} images that have a label")


READER = Reader(_read)
