"""Class ids from 0, converted from those in a file, which may count from 1."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Card
from hashbench.foundation.errors import HashbenchError


def class_ids(card: Card, path: str, stated: NDArray[Any], first: int = 0) -> NDArray[np.int64]:
    """The class id of each row, int64[rows] from 0; the file counts from ``first``.

    Raises HashbenchError for a row whose class does not exist.
    """
    ids = stated.astype(np.float64) - first
    wrong = np.flatnonzero(~((ids >= 0) & (ids < card.n_classes) & (ids == np.floor(ids))))
    if wrong.size:
        last = card.n_classes - 1 + first
        raise HashbenchError(f"{path}: row {wrong[0]} has label {stated[wrong[0]]:g}; {first} to {last} exist")
    return ids.astype(np.int64)
