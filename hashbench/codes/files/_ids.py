"""Reads the ids of items that stand beside codes: one integer or text an item."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._stored import StoredArray
from hashbench.errors import HashbenchError


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
        seen |= np.isin(query, piece)
    return int(seen.sum())


def _checked(stored: StoredArray, n_items: int) -> StoredArray:
    if stored.shape != (n_items,) or stored.dtype.kind not in "uiUS":
        raise HashbenchError(
            f"{stored.where}: {stored.dtype} of shape {stored.shape}: {n_items} integers or texts are expected"
        )
    return stored
