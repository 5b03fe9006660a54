"""TREC files: rankings and relevance in files that other evaluators read, to check results with them.

``run.txt`` has a line ``query Q0 item rank score tag`` for each item retrieved, with the score ``bits - distance``,
ties in database order. ``qrels.txt`` has a line ``query 0 item level`` for each relevant pair. Numbers are padded with
zeros, so that names sorted as text are in database order. trec_eval orders ties by name, last first, and ignores ranks.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from hashbench.foundation.files import all_or_none, atomic
from hashbench.scoring.codes import Codes
from hashbench.scoring.codes.nearest import neighbours
from hashbench.scoring.histogram.counts import Ints
from hashbench.scoring.relevance.labels import Relevance

DEPTH = 1000  # items of each query in a run file, as is usual
TAG = "hashbench"


def write_trec(
    folder: Path,
    query: Codes,
    database: Codes,
    relevance: Relevance,
    *,
    depth: int = DEPTH,
    own_rows: Ints | None = None,
) -> None:
    """Writes ``run.txt``, the nearest ``depth`` items of each query, and ``qrels.txt``, the levels of relevant pairs.

    The item ``own_rows`` [q] (-1: none) of a query is in neither. A pair that ``qrels.txt`` lacks is not relevant.
    """
    if own_rows is None:
        own_rows = np.full(len(query), -1)
    files = {"run.txt": _run(query, database, depth, own_rows), "qrels.txt": _qrels(relevance, own_rows)}
    with all_or_none():
        for name, lines in files.items():
            with atomic(folder / name) as temporary, temporary.open("w", encoding="ascii", newline="\n") as file:
                file.writelines(lines)


def _run(query: Codes, database: Codes, depth: int, left_out: Ints) -> Iterator[str]:
    query_name = _namer("q", len(query))
    item_name = _namer("d", len(database))
    for q in range(len(query)):
        nearest = neighbours(query[q : q + 1], database, depth + 1)  # one more, for its own item may be among them
        others = np.flatnonzero(nearest.items != left_out[q])[:depth]
        for rank, place in enumerate(others, 1):
            score = query.n_bits - nearest.distances[place]
            yield f"{query_name(q)} Q0 {item_name(nearest.items[place])} {rank} {score} {TAG}\n"


def _qrels(relevance: Relevance, left_out: Ints) -> Iterator[str]:
    n_queries, n_items = relevance.shape
    query_name = _namer("q", n_queries)
    item_name = _namer("d", n_items)
    for q in range(n_queries):
        row = relevance.block(slice(q, q + 1), slice(0, n_items))[0]
        for n in np.flatnonzero(row).tolist():
            if n != left_out[q]:
                yield f"{query_name(q)} 0 {item_name(n)} {relevance.levels[row[n]]}\n"


def _namer(letter: str, n: int) -> Callable[[int], str]:
    width = len(str(max(n - 1, 0)))
    return f"{letter}{{:0{width}d}}".format
