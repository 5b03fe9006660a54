"""ISOLET's text: 617 features and the letter, 1 to 26, separated by commas; a full stop ends the line.

Published copies of ISOLET have their rows in different orders. The rows of each file are therefore sorted by letter,
then by the bytes of the features, so that the ids do not depend on the copy.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Card
from hashbench.datasets.readers import _text
from hashbench.datasets.readers._reader import Block, Files, Items, Reader


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        rows = _text.table(member.path, file, ",", card.item_shape[0] + 1)
        block = _text.block(card, member.path, rows[:, :-1], rows[:, -1], first=1)
        assert block.items is not None
        order = _order(block.items, block.labels)
        yield Block(block.items[order], block.labels[order])


def _order(items: Items, labels: NDArray[np.integer]) -> NDArray[np.int64]:
    keys = [(int(label), item.tobytes()) for item, label in zip(items, labels, strict=True)]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


READER = Reader(_read)
