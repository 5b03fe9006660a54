"""The handwritten digits that scikit-learn carries with it."""

from collections.abc import Iterable, Iterator

import numpy as np

from hashbench.datasets.card import Card, Member
from hashbench.datasets.readers._reader import Block, Reader


def _read(card: Card, members: Iterable[tuple[Member, bytes]]) -> Iterator[Block]:  # noqa: ARG001  (none: embedded)
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    # the values are whole numbers 0..16 kept as floats: nothing is lost
    yield images.astype(np.uint8).reshape(len(images), *card.item_shape), labels.astype(np.int64)


READER = Reader(_read)
