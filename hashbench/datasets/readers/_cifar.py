"""The rows of the binary versions of CIFAR: label bytes, of which the last is the class, then the planes R, G, B."""

import numpy as np

from hashbench.datasets.card import Card
from hashbench.datasets.readers._classes import class_ids
from hashbench.datasets.readers._reader import Block
from hashbench.foundation.errors import HashbenchError


def decode(card: Card, path: str, data: bytes, label_bytes: int) -> Block:
    """The items of a file; raises HashbenchError if it does not consist of whole rows, or has an unknown class."""
    height, width, channels = card.item_shape
    row = label_bytes + height * width * channels
    if len(data) % row:
        raise HashbenchError(f"{path}: {len(data)} bytes are not whole rows of {row}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, row)
    labels = class_ids(card, path, rows[:, label_bytes - 1])
    planes = rows[:, label_bytes:].reshape(-1, channels, height, width)
    return Block(np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels)
