"""Rows of the binary versions of CIFAR: label bytes, the last of them the class, then the planes R, G, B."""

import numpy as np

from hashbench.datasets.card import Card
from hashbench.datasets.readers._reader import Block
from hashbench.errors import HashbenchError


def decode(card: Card, path: str, data: bytes, label_bytes: int) -> Block:
    """The items of a file; raises HashbenchError for bytes that are not whole rows, or a class that does not exist."""
    height, width, channels = card.item_shape
    row = label_bytes + height * width * channels
    if len(data) % row:
        raise HashbenchError(f"{path}: {len(data)} bytes are not whole rows of {row}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, row)
    labels = rows[:, label_bytes - 1].astype(np.int64)
    if (wrong := np.flatnonzero(labels >= card.n_classes)).size:
        raise HashbenchError(f"{path}: row {wrong[0]} has label {labels[wrong[0]]}; 0 to {card.n_classes - 1} exist")
    planes = rows[:, label_bytes:].reshape(-1, channels, height, width)
    return Block(np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels)
