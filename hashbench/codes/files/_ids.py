"""Reads the ids of items that stand beside codes: one integer or text an item."""

from collections.abc import Iterable, Mapping
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
    return _checked(stored, n_items).whole()


def ids_in(ids: Mapping[str, StoredArray], n_queries: int, n_database: int) -> int | None:
    """The number of query ids among the database ids, which are read in slabs; None where the file lacks either."""
    query = read(ids.get("query_ids"), n_queries)
    if "database_ids" not in ids or query is None:
        return None
    database = _checked(ids["database_ids"], n_database)
    return count_in(query, (slab for _, slab in database.slabs()))


def count_in(query: NDArray[Any], database: Iterable[NDArray[Any]]) -> int:
    """The number of ``query`` ids that are in some piece of ``database``."""
    seen = np.zeros(len(query), bool)
    for piece in database:
        seen |= np.isin(_decoded(query), _decoded(piece))
    return int(seen.sum())


def rows_in(ids: Mapping[str, StoredArray], n_queries: int, n_database: int) -> NDArray[np.int64] | None:
    """The row of each query in the database by its id, int64[q], -1 for none; None where the file lacks either.

    Database ids are read in slabs. Raises HashbenchError where they are of different kinds, or where an id that a query
    has is there twice.
    """
    query = read(ids.get("query_ids"), n_queries)
    if "database_ids" not in ids or query is None:
        return None
    database = _checked(ids["database_ids"], n_database)
    return rows_of(query, (slab for _, slab in database.slabs()), database.where)


def rows_of(query: NDArray[Any], database: Iterable[NDArray[Any]], where: str) -> NDArray[np.int64]:
    """As ``rows_in``, of ids in memory; ``where`` names those of the database in errors.

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


def _checked(stored: StoredArray, n_items: int) -> StoredArray:
    if stored.shape != (n_items,) or stored.dtype.kind not in "uiUS":
        raise HashbenchError(
            f"{stored.where}: {stored.dtype} of shape {stored.shape}: {n_items} integers or texts are expected"
        )
    return stored
