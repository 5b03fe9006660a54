"""The binary version of CIFAR-10: files of rows of one label byte and the planes R, G, B of an image."""

from collections.abc import Iterable, Iterator

import numpy as np

from hashbench.datasets.card import Card, Member
from hashbench.datasets.readers._reader import Block, Reader
from hashbench.errors import HashbenchError


def _read(card: Card, members: Iterable[tuple[Member, bytes]]) -> Iterator[Block]:
    for member, data in members:
        yield _decode(card, member.path, data)


def _decode(card: Card, path: str, data: bytes) -> Block:
    height, width, channels = card.item_shape
    row = 1 + height * width * channels
    if len(data) % row:
        raise HashbenchError(f"{path}: {len(data)} bytes are not whole rows of {row}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, row)
    labels = rows[:, 0].astype(np.int64)
    if (wrong := np.flatnonzero(labels >= card.n_classes)).size:
        raise HashbenchError(f"{path}: row {wrong[0]} has label {labels[wrong[0]]}; 0 to {card.n_classes - 1} exist")
    planes = rows[:, 1:].reshape(-1, channels, height, width)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


READER = Reader(_read)
