"""The nearest items of queries: found exhaustively, or approximately in the lists of an inverted file."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import inverted_file
from hashbench.codes.nearest import neighbours_of
from hashbench.codes.packed import Codes
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic

PROBES = inverted_file.PROBES
N_CHECKED = 100  # queries of an approximate search that are searched exhaustively too


@dataclass(frozen=True)
class Lists:
    """An approximate search: ``n_lists`` in ``file``, ``probes`` of them a query; recall by ``n_checked`` queries."""

    n_lists: int | None = None
    probes: int = PROBES
    file: Path | None = None
    n_checked: int = N_CHECKED


@dataclass(frozen=True)
class Found:
    """The ``arrays`` that were found, rows of ``queries``, ``ids`` and ``distances`` [q, top], sizes and seconds."""

    arrays: dict[str, NDArray[Any]]
    summary: dict[str, Any]

    def save(self, path: Path) -> None:
        """Writes the arrays to the .npz ``path``."""
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **self.arrays)


def search(query: Codes, database: Codes, top: int, n_queries: int | None = None, lists: Lists | None = None) -> Found:
    """The ``top`` nearest items of ``n_queries`` queries, evenly spread (None: all), among all items or ``lists``."""
    if top > len(database):
        raise HashbenchError(f"--top {top}: the database has {len(database):,} items, and no more can be found")
    rows, query = _spread(query, n_queries or len(query))
    found = _exhaustive(query, database, top) if lists is None else _in_lists(query, database, top, lists)
    sizes = {"n_queries": len(query), "n_items": len(database), "n_bits": query.n_bits, "top": top}
    return Found({"queries": rows, **found.arrays}, sizes | found.summary)


def _spread(query: Codes, wanted: int) -> tuple[NDArray[Any], Codes]:
    """The rows of ``wanted`` queries, evenly spaced, and their codes; all if there are fewer."""
    n = min(wanted, len(query))
    rows = np.arange(n) * len(query) // n
    return rows, Codes(query.words[rows], query.n_bits)


def _exhaustive(query: Codes, database: Codes, top: int) -> Found:
    started = time.perf_counter()
    found = neighbours_of(query, database, top, progress=True)
    seconds = time.perf_counter() - started
    names = {"ids": "items", "distances": "distances", "first": "first", "last": "last"}
    arrays = {name: np.stack([getattr(each, field) for each in found]) for name, field in names.items()}
    n_cut_ties = int((arrays["last"][:, -1] > top).sum())
    return Found(arrays, {"method": "exhaustive", "search_s": seconds, "n_cut_ties": n_cut_ties})


def _in_lists(query: Codes, database: Codes, top: int, options: Lists) -> Found:
    started = time.perf_counter()
    lists = _load_or_make(database, options.file, options.n_lists)
    searched = inverted_file.InvertedFile(database, lists)
    built = time.perf_counter()
    probes = min(options.probes, len(lists))
    found = searched.search(query, top, probes, progress=True)
    seconds = {"build_s": built - started, "search_s": time.perf_counter() - built}
    summary = {"method": "ivf", "lists": len(lists), "probes": probes, **seconds}
    if options.n_checked:
        rows, some = _spread(query, options.n_checked)
        exact = _exhaustive(some, database, top)
        recall = inverted_file.recall(found.distances[rows], exact.arrays["distances"])
        exhaustive_s = exact.summary["search_s"] * len(query) / len(rows)
        summary |= {"recall": recall, "n_checked": len(rows), "exhaustive_s": exhaustive_s}
    return Found(found._asdict(), summary)


def _load_or_make(database: Codes, file: Path | None, n_lists: int | None) -> inverted_file.Lists:
    if file is not None and file.exists():
        lists = inverted_file.load(file, database)
        if n_lists not in (None, len(lists)):
            other = "leave --lists out or name another file"
            raise HashbenchError(f"{file}: has {len(lists)} lists, not {n_lists}: {other}")
        return lists
    lists = inverted_file.make_lists(database, n_lists, progress=True)
    if file is not None:
        inverted_file.save(lists, file)
    return lists
