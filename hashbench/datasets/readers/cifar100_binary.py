"""The binary version of CIFAR-100: bytes for the coarse class (20) and the fine class (100), then the planes."""

from collections.abc import Iterator

from hashbench.datasets.card import Card
from hashbench.datasets.readers._cifar import decode
from hashbench.datasets.readers._reader import Block, Files, Reader


def _read(card: Card, files: Files) -> Iterator[Block]:
    for member, file in files.members:
        yield decode(card, member.path, file.read(), label_bytes=2)


READER = Reader(_read)
