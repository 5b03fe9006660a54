"""LIBSVM's text format: each line has a class from 1, then index:value for each feature that is not 0, from index 1."""

from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from hashbench.datasets.card import Card
from hashbench.datasets.readers import Block, Reader, class_ids, text_features
from hashbench.foundation.errors import retold


def decode(card: Card, path: str, file: BinaryIO) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The features and classes in a file; raises HashbenchError for other text, or for an unknown class or feature."""
    with retold(lambda cause: f"{path}: damaged or truncated ({cause})", ValueError, OverflowError):
        features, classes = load_svmlight_file(file, n_features=card.item_shape[0], zero_based=False)
    return text_features(path, features.toarray()), class_ids(card, path, classes, first=1)


READER = Reader(lambda card, files: (Block(*decode(card, member.path, file)) for member, file in files.members))
