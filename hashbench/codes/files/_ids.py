"""Reads the ids of items beside their codes: one integer or text an item."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._stored import StoredArray
from hashbench.foundation.errors import HashbenchError

Ids = NDArray[Any]  # [n], integers or texts


def read(stored: StoredArray | None, n_items: int) -> NDArray[Any] | None:
    """The ids of ``n_items`` items, None where the file has none; raises HashbenchError where they are no ids."""
    if stored is None:
        return None
    return checked(stored, n_items).whole()


def count_in(query: NDArray[Any], database: Iterable[NDArray[Any]]) -> int:
    """The number of ``query`` ids that are in some piece of ``database``."""
    seen = np.zeros(len(query), bool)
    for piece in database:
        seen |= np.isin(_decoded(query), _decoded(piece))
    return int(seen.sum())


def rows_of(query: NDArray[Any], database: Iterable[NDArray[Any]], where: str) -> NDArray[np.int64]:
    """The row of each query in the database by its id, int64[q], -1 for none; ``where`` names the database in errors.

    Raises HashbenchError if an id that a query has is the id of several database items.

    >>> rows_of(np.array([7, 5, 7]), [np.array([3, 7]), np.array([9])], "ids").tolist()
    [1, -1, 1]
    """
    different, of_query = np.unique(_decoded(query), return_inverse=True)
    row, start = np.full(len(different), -1, np.int64), 0
    for piece in map(_decoded, database):
        if (piece.dtype.kind in "ui") != (query.dtype.kind in "ui"):
            raise HashbenchError(f"{where}: integers beside texts in the other ids: both must be of one kind")
        found = np.flatnonzero(np.isin(piece, different))
        place = np.searchsorted(different, piece[found])
        if len(np.unique(place)) < len(place) or (row[place] >= 0).any():
            raise HashbenchError(f"{where}: the id of a query is there twice: each item needs an id of its own")
        row[place] = start + found
        start += len(piece)
    return row[of_query]


def _decoded(ids: NDArray[Any]) -> NDArray[Any]:
    """The ids, with bytes as texts: some formats give the one, some the other, and NumPy finds them all different."""
    return np.strings.decode(ids, "utf-8", "backslashreplace") if ids.dtype.kind == "S" else ids


def checked(stored: StoredArray, n_items: int) -> StoredArray:
    """The stored ids of ``n_items`` items; raises HashbenchError if they are not one integer or text for each."""
    if stored.shape != (n_items,) or stored.dtype.kind not in "uiUS":
        raise HashbenchError(
            f"{stored.where}: {stored.dtype} of shape {stored.shape}: {n_items} integers or texts are expected"
        )
    return stored
