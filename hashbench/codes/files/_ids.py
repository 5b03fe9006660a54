"""Names of items beside codes: integers or texts, one an item."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._stored import Stored
from hashbench.errors import HashbenchError


def read(stored: Stored | None, n_items: int) -> NDArray[Any] | None:
    """The ids of ``n_items`` items, where the file has them; raises HashbenchError where they are something else."""
    if stored is None:
        return None
    ids = np.empty(n_items, _checked(stored, n_items).dtype)
    for at, slab in stored.slabs():
        ids[at] = slab
    return ids


def ids_in(ids: Mapping[str, Stored], n_queries: int, n_database: int) -> int | None:
    """The number of query ids among the database ids, which are read in pieces; None where either is not there."""
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


def _checked(stored: Stored, n_items: int) -> Stored:
    if stored.shape != (n_items,) or stored.dtype.kind not in "uiUS":
        raise HashbenchError(
            f"{stored.where}: {stored.dtype} of shape {stored.shape}: {n_items} integers or texts are expected"
        )
    return stored
