"""The nearest items of queries, found by comparing each query with all items."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.codes.nearest import neighbours_of, spread
from hashbench.scoring.codes.packed import Codes

ARRAYS = {"ids": "items", "distances": "distances", "first": "first", "last": "last"}  # by the field of ``Neighbours``


@dataclass(frozen=True)
class SearchResult:
    """The ``arrays`` queries [q], ids, distances and ranks first and last [q, top]; and sizes and seconds."""

    arrays: dict[str, NDArray[Any]]
    summary: dict[str, Any]


def search(query: Codes, database: Codes, top: int, n_queries: int | None = None) -> SearchResult:
    """The ``top`` nearest items, or all there are, of ``n_queries`` queries, evenly spread (None: all)."""
    rows = spread(len(query), n_queries or len(query))
    if not len(rows) or not len(database):
        raise HashbenchError(f"{len(rows)} queries and {len(database)} items: one or more of both are expected")
    top = min(top, len(database))
    started = time.perf_counter()
    neighbours = neighbours_of(query[rows], database, top, progress=True)
    seconds = time.perf_counter() - started
    arrays = {"queries": rows}
    for name, field in ARRAYS.items():
        arrays[name] = np.stack([getattr(nearest, field) for nearest in neighbours])
    summary = {
        "n_queries": len(rows),
        "n_items": len(database),
        "n_bits": query.n_bits,
        "top": top,
        "search_s": seconds,
        "n_cut_ties": int((arrays["last"][:, -1] > top).sum()),
    }
    return SearchResult(arrays, summary)
