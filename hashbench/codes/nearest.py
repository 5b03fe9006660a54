"""The nearest items of a query, each with the ranks that it may take: tied items share them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.packed import Codes
from hashbench.errors import HashbenchError

DATABASE_BLOCK = 1 << 20  # codes compared with a query at a time

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The ``k`` nearest ``items`` of one query, in order of distance and then of the database, all int64[k].

    An item may take any rank from ``first`` to ``last``, counted from 1: those are the ranks of all database items at
    its distance, also of items that are not among the ``k``.
    """

    items: Ints
    distances: Ints
    first: Ints
    last: Ints


def neighbours(query: Codes, database: Codes, k: int) -> Neighbours:
    """The ``k`` nearest items of the one code in ``query``; all items where the database has fewer.

    Reads the database once and holds one distance an item in memory.

    >>> from hashbench.codes.packed import pack
    >>> found = neighbours(pack(np.array([[0, 0]])), pack(np.array([[1, 1], [0, 1], [1, 0]])), 1)
    >>> found.items, found.distances, found.first, found.last
    (array([1]), array([1]), array([1]), array([2]))
    """
    if len(query) != 1 or query.n_bits != database.n_bits or k < 1:
        raise HashbenchError(
            f"{len(query)} queries of {query.n_bits} bits, {database.n_bits} in the database, k = {k}: "
            "one query of as many bits, and k of 1 or more, are expected"
        )
    distances = np.concatenate(
        [
            np.bitwise_count(database.words[start : start + DATABASE_BLOCK] ^ query.words).sum(axis=1, dtype=np.int16)
            for start in range(0, len(database), DATABASE_BLOCK)
        ]
    )
    items = np.argsort(distances, kind="stable")[:k]  # a radix sort; 4,096 bits fit 16
    nearest = distances[items].astype(np.int64)
    up_to = np.cumsum(np.bincount(distances, minlength=query.n_bits + 1))
    before = np.concatenate([[0], up_to])
    return Neighbours(items, nearest, before[nearest] + 1, up_to[nearest])
