"""ISOLET's text: 617 features and the letter, 1 to 26, separated by commas; a full stop ends the line.

Published copies of ISOLET have their rows in different orders. The rows of each file are therefore sorted by letter,
then by the bytes of the features, so that the ids do not depend on the copy.
"""

from collections.abc import Iterator

from hashbench.datasets.card import Card
from hashbench.datasets.readers import _text
from hashbench.datasets.readers._reader import Block, Files, Reader


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        rows = _text.table(member.path, file, ",", card.item_shape[0] + 1)
        block = _text.block(card, member.path, rows[:, :-1], rows[:, -1], first=1)
        assert block.items is not None
        keys = [(int(label), item.tobytes()) for item, label in zip(block.items, block.labels, strict=True)]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        yield Block(block.items[order], block.labels[order])


READER = Reader(_read)
