"""Rows of LIBSVM's text: a class from 1, then index:value of the features that are not 0, counted from 1."""

from typing import BinaryIO

from hashbench.datasets.card import Card
from hashbench.datasets.readers import _text
from hashbench.datasets.readers._reader import Block
from hashbench.errors import HashbenchError, one_line


def decode(card: Card, path: str, file: BinaryIO) -> Block:
    """The items of a file; raises HashbenchError where it is not such text, or a class or feature does not exist."""
    from sklearn.datasets import load_svmlight_file

    try:
        features, classes = load_svmlight_file(file, n_features=card.item_shape[0], zero_based=False)
    except (ValueError, OverflowError) as error:
        raise HashbenchError(f"{path}: damaged or truncated ({one_line(error)})") from None
    return _text.block(card, path, features.toarray(), classes, first=1)
