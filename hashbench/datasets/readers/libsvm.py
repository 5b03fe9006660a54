"""LIBSVM's text format: each line has a class from 1, then index:value for each feature that is not 0."""

from collections.abc import Iterator

from hashbench.datasets.card import Card
from hashbench.datasets.readers._libsvm import decode
from hashbench.datasets.readers._reader import Block, Files, Reader


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        yield decode(card, member.path, file)


READER = Reader(_read)
