"""The nearest items of a query, each with the ranks that it may take: tied items share them."""

from bisect import bisect_left
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import with_bar
from hashbench.scoring.codes.packed import Codes

BLOCK_WORDS = 1 << 15  # of the database, compared with a query at a time: 256 KiB, which stay in the cache

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The ``k`` nearest ``items`` of one query, in order of distance and then of the database, all int64[k]."""

    items: Ints
    distances: Ints
    first: Ints  # to last: the ranks that an item may take, from 1, those of all at its distance
    last: Ints


def neighbours(query: Codes, database: Codes, k: int) -> Neighbours:
    """The ``k`` nearest items of the one code in ``query``; all items where the database has fewer.

    >>> from hashbench.scoring.codes.packed import pack
    >>> nearest = neighbours(pack(np.array([[0, 0]])), pack(np.array([[1, 1], [0, 1], [1, 0]])), 1)
    >>> nearest.items, nearest.distances, nearest.first, nearest.last
    (array([1]), array([1]), array([1]), array([2]))
    """
    if query.shape != (1, database.n_bits) or k < 1:
        what = f"k = {k}, {len(query)} queries of {query.n_bits} bits, {database.n_bits} in the database"
        raise HashbenchError(f"{what}: k of 1 or more is expected, and one query of as many bits")
    smallest_type = np.uint8 if query.n_bits < 256 else np.int16
    distances: NDArray[Any] = np.empty(len(database), smallest_type)
    for rows in slices(len(database), max(1, BLOCK_WORDS // database.words.shape[1])):
        part = distances[rows]
        np.bitwise_count(database.words[rows, 0] ^ query.words[0, 0], out=part)
        for w in range(1, database.words.shape[1]):
            part += np.bitwise_count(database.words[rows, w] ^ query.words[0, w])
    enough = min(k, len(database))
    # of the last of the k nearest; to halve the range of distances is faster than to count the items at each
    farthest = bisect_left(range(query.n_bits + 1), enough, key=lambda d: int(np.count_nonzero(distances <= d)))
    near = np.flatnonzero(distances <= farthest)
    up_to = np.cumsum(np.bincount(distances[near], minlength=query.n_bits + 1))
    items = near[np.argsort(distances[near], kind="stable")[:k]]  # a radix sort; 4,096 bits fit 16
    nearest = distances[items].astype(np.int64)
    before = np.concatenate([[0], up_to])
    return Neighbours(items, nearest, before[nearest] + 1, up_to[nearest])


def spread(n: int, wanted: int) -> Ints:
    """The places of ``wanted`` of ``n`` queries, evenly spaced; of all if there are fewer."""
    wanted = min(wanted, n)
    return np.arange(wanted) * n // wanted


def neighbours_of(queries: Codes, database: Codes, k: int, *, progress: bool = False) -> list[Neighbours]:
    """The ``neighbours`` of each query; a thread on each core searches for one query at a time."""
    alone = [queries[q : q + 1] for q in range(len(queries))]
    with ThreadPoolExecutor(available_cores()) as pool:
        try:
            searches = pool.map(lambda query: neighbours(query, database, k), alone)
            return list(with_bar(searches, "search", "query", len(alone), shown=progress))
        except BaseException:  # an interrupt: the end of the block waits for what has not begun, too
            pool.shutdown(wait=False, cancel_futures=True)
            raise
