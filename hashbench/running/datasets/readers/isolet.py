"""ISOLET's text: 617 features and the letter, 1 to 26; rows are sorted, since the order of published copies differs."""

from collections.abc import Iterator

from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block, Files, Reader, class_ids, text_features, text_table


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        rows = text_table(member.path, file, ",", card.item_shape[0] + 1)
        items = text_features(member.path, rows[:, :-1])
        labels = class_ids(card, member.path, rows[:, -1], first=1)
        keys = [(int(label), item.tobytes()) for item, label in zip(items, labels, strict=True)]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        yield Block(items[order], labels[order])


READER = Reader(_read)
