"""LIBSVM's text: a class from 1 and index:value of each feature that is not 0, one item a line."""

from collections.abc import Iterator

from hashbench.datasets.card import Card
from hashbench.datasets.readers._libsvm import decode
from hashbench.datasets.readers._reader import Block, Files, Reader


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        yield decode(card, member.path, file)


READER = Reader(_read)
