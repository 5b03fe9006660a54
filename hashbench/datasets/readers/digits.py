"""The handwritten digits that are part of scikit-learn."""

from collections.abc import Iterator

import numpy as np

from hashbench.datasets.card import Card
from hashbench.datasets.readers import Block, Files, Reader


def _read(card: Card, files: Files) -> Iterator[Block]:  # noqa: ARG001  (it has none: embedded)
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    # the values are whole numbers 0..16 kept as floats: nothing is lost
    yield Block(images.astype(np.uint8).reshape(len(images), *card.item_shape), labels.astype(np.int64))


READER = Reader(_read)
