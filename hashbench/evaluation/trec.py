"""TREC run and qrels files: rankings and relevance in files that other evaluators read, to check results with them.

A run file has a line ``query Q0 item rank score tag`` for each item retrieved, with the score ``bits - distance``, ties
in database order. A qrels file has a line ``query 0 item level`` for each relevant pair. Numbers are padded with zeros,
so that names sorted as text are in database order. trec_eval orders ties by name, last first, and ignores the rank.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from hashbench.codes import Codes
from hashbench.codes.nearest import neighbours
from hashbench.foundation.files import atomic
from hashbench.foundation.parallel import slices
from hashbench.histogram.counts import Ints
from hashbench.relevance.labels import Relevance

DEPTH = 1000  # items of each query in a run file, as is usual
TAG = "hashbench"
DATABASE_BLOCK = 1 << 20  # items whose relevance to a query is asked for at a time


def write_run(path: Path, query: Codes, database: Codes, *, depth: int = DEPTH, own: Ints | None = None) -> None:
    """Writes the nearest ``depth`` items of each query but its ``own`` [q] (-1: none), ties in database order."""
    query_name, item_name = _namer("q", len(query)), _namer("d", len(database))

    def lines() -> Iterator[str]:
        for q in range(len(query)):
            found = neighbours(query[q : q + 1], database, depth if own is None else depth + 1)
            kept = np.flatnonzero(found.items != (-1 if own is None else own[q]))[:depth]
            pairs = zip(found.items[kept].tolist(), found.distances[kept].tolist(), strict=True)
            for rank, (n, d) in enumerate(pairs, 1):
                yield f"{query_name(q)} Q0 {item_name(n)} {rank} {query.n_bits - d} {TAG}\n"

    _write(path, lines())


def write_qrels(path: Path, relevance: Relevance, *, own: Ints | None = None) -> None:
    """Writes the level of every relevant pair to ``path``; a pair without a line is not relevant; ``own`` as above."""
    n_queries, n_items = relevance.shape
    query_name, item_name, levels = _namer("q", n_queries), _namer("d", n_items), relevance.levels

    def lines() -> Iterator[str]:
        for q in range(n_queries):
            for part in slices(n_items, DATABASE_BLOCK):
                row = relevance.block(slice(q, q + 1), part)[0]
                items = np.flatnonzero(row)
                items = items if own is None else items[items + part.start != own[q]]
                for n, level in zip((items + part.start).tolist(), levels[row[items]].tolist(), strict=True):
                    yield f"{query_name(q)} 0 {item_name(n)} {level}\n"

    _write(path, lines())


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic(path) as temporary, temporary.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(lines)


def _namer(letter: str, n: int) -> Callable[[int], str]:
    return f"{letter}{{:0{len(str(max(n - 1, 0)))}d}}".format
