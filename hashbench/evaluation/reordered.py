"""Recall where candidates by Hamming distance are ordered again by the query's numbers times their bits.

It needs no floats of the items (Yamada, Asai, Hajishirzi 2021). sentence-transformers calls it rescoring.
"""

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import Codes
from hashbench.histogram.ranking import blocks, hamming

Floats = NDArray[np.float64]


def reordered_recall(
    query: Codes, database: Codes, activations: NDArray[np.floating], neighbours: NDArray[np.integer], candidates: int
) -> Floats:
    """The share of the neighbours [q, k] (rows, -1: none) that is among the first k of the ordered candidates, [q].

    The candidates are the first so many by Hamming distance: the mean over all orders of the items at the distance
    where they end. They are ordered by <z, b> with the activations z [q, bits] and b in {-1, +1}; items of equal
    products are in the order of the database. NaN for a query without neighbours.

    With s drawn from the g items at the last distance, a neighbour is found if fewer than k candidates are ahead of it:
    those that are nearer and ahead of it, and a hypergeometric number of the a of the g items that are.

    >>> from hashbench.codes import pack
    >>> items = pack(np.array([[1, 1], [1, 0], [0, 1]], bool))
    >>> reordered_recall(pack(np.array([[1, 1]], bool)), items, np.array([[2.0, 1.0]]), np.array([[0, 2]]), 2)
    array([0.75])
    """
    candidates = min(candidates, len(database))
    distances = hamming(query, database)
    pairs = [
        _pairs_of_query(row, database, activations[first.start + at], neighbours[first.start + at], candidates)
        for first in blocks(len(query), len(database))
        for at, row in enumerate(distances(first))
    ]
    n_neighbours = (neighbours >= 0).sum(axis=1)
    k = neighbours.shape[1]
    query_of_pair = np.repeat(np.arange(len(query)), [len(of_query) for of_query in pairs])
    found = np.bincount(query_of_pair, _probabilities(np.concatenate(pairs), k), minlength=len(query))
    return np.divide(found, n_neighbours, out=np.full(len(query), np.nan), where=n_neighbours > 0)


def _pairs_of_query(
    distances: NDArray[np.int16],
    database: Codes,
    activations: NDArray[np.floating],
    neighbours: NDArray[np.integer],
    candidates: int,
) -> NDArray[np.int64]:
    """Of each neighbour that may be a candidate: is it tied; nearer and tied items ahead of it; g; s. int64[n, 5]."""
    last = np.searchsorted(np.cumsum(np.bincount(distances)), candidates)
    items = np.flatnonzero(distances <= last)
    is_tied = distances[items] == last
    n_tied = int(is_tied.sum())
    n_drawn = candidates - (len(items) - n_tied)
    products = database[items].bits() @ activations.astype(np.float64)  # of 0 and 1: the same order
    order = np.argsort(-products, kind="stable")
    tied_in_order = is_tied[order]
    tied_ahead = np.cumsum(tied_in_order) - tied_in_order
    nearer_ahead = np.cumsum(~tied_in_order) - ~tied_in_order
    places = np.flatnonzero(np.isin(items[order], neighbours))
    of_all = np.array([n_tied, n_drawn])
    found = [tied_in_order[places], nearer_ahead[places], tied_ahead[places]]
    return np.column_stack([*found, np.tile(of_all, (len(places), 1))]).astype(np.int64)


def _probabilities(pairs: NDArray[np.int64], k: int) -> Floats:
    """The probability that each neighbour is among the first k, float64[n]."""
    from scipy.stats import hypergeom

    is_tied, nearer, tied, n_tied, n_drawn = pairs.T
    room = k - 1 - nearer  # of the tied items, that may be ahead
    others, drawn = n_tied - is_tied, n_drawn - is_tied  # where it is tied, it is one of those that are drawn
    has_room = (room >= 0).astype(np.float64)
    counts = tied > 0
    has_room[counts] = hypergeom.cdf(room[counts], others[counts], tied[counts], drawn[counts])
    share = np.where(is_tied == 1, n_drawn / n_tied, 1.0)
    return np.asarray(share * has_room)
