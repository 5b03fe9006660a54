"""The binary version of CIFAR-10: each row has a byte for the class and the planes R, G, B of an image."""

from collections.abc import Iterator
from functools import partial
from math import prod

import numpy as np

from hashbench.foundation.errors import HashbenchError
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block, Files, Reader, class_ids, images_of_planes


def read_rows(card: Card, files: Files, label_bytes: int) -> Iterator[Block]:
    """The items of files whose rows begin with ``label_bytes`` bytes, the last of them the class."""
    row = label_bytes + prod(card.item_shape)
    for member, file in files.members:
        data = file.read()
        if len(data) % row:
            raise HashbenchError(f"{member.path}: {len(data)} bytes are not whole rows of {row}")
        rows = np.frombuffer(data, np.uint8).reshape(-1, row)
        labels = class_ids(card, member.path, rows[:, label_bytes - 1])
        yield Block(images_of_planes(card, rows[:, label_bytes:]), labels)


READER = Reader(partial(read_rows, label_bytes=1))
