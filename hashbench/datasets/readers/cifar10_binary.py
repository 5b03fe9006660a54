"""The binary version of CIFAR-10: each row has a byte for the class and the planes R, G, B of an image."""

from collections.abc import Iterator

from hashbench.datasets.card import Card
from hashbench.datasets.readers._cifar import decode
from hashbench.datasets.readers._reader import Block, Files, Reader


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        yield decode(card, member.path, file.read(), label_bytes=1)


READER = Reader(_read)
