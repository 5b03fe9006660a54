"""Functions for readers of text files, which have rows of features and a class."""

import warnings
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Card
from hashbench.datasets.readers._reader import Block, as_float32, class_ids
from hashbench.foundation.errors import HashbenchError, one_line


def table(path: str, file: BinaryIO, delimiter: str | None, n_columns: int) -> NDArray[np.float64]:
    """The numbers in the file, float64[rows, n_columns]; raises HashbenchError if it has anything else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns of an empty file, which is an error below
            rows = np.loadtxt(file, delimiter=delimiter, ndmin=2, comments=None, encoding="ascii")
    except (ValueError, UnicodeError) as error:
        raise HashbenchError(f"{path}: damaged or truncated ({one_line(error)})") from None
    if not rows.size or rows.shape[1] != n_columns:
        raise HashbenchError(f"{path}: {len(rows)} rows of {rows.shape[1]} numbers; rows of {n_columns} are expected")
    return rows


def block(card: Card, path: str, features: NDArray[np.float64], classes: NDArray[np.float64], first: int) -> Block:
    """The items and their classes, which the file counts from ``first``; raises HashbenchError for invalid values.

    A zero of either sign becomes 0.0, so that two texts of the same numbers give the same bytes.
    """
    items = as_float32(path, features) + np.float32(0)
    return Block(items, class_ids(card, path, classes, first))
