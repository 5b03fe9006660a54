"""The binary version of CIFAR-10: each row has a byte for the class and the planes R, G, B of an image."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from hashbench.datasets.card import Card
from hashbench.datasets.readers._reader import Block, Files, Reader, class_ids
from hashbench.foundation.errors import HashbenchError


def read_rows(card: Card, files: Files, label_bytes: int) -> Iterator[Block]:
    """The items of files whose rows begin with ``label_bytes`` bytes, of which the last is the class.

    Raises HashbenchError if a file does not consist of whole rows, or has an unknown class.
    """
    height, width, channels = card.item_shape
    row = label_bytes + height * width * channels
    for member, file in files.members:
        data = file.read()
        if len(data) % row:
            raise HashbenchError(f"{member.path}: {len(data)} bytes are not whole rows of {row}")
        rows = np.frombuffer(data, np.uint8).reshape(-1, row)
        labels = class_ids(card, member.path, rows[:, label_bytes - 1])
        planes = rows[:, label_bytes:].reshape(-1, channels, height, width)
        yield Block(np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels)


READER = Reader(partial(read_rows, label_bytes=1))
