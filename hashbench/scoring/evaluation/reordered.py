"""Recall where candidates by Hamming distance are ordered again by the query's numbers times their bits.

It needs no floats of the items (Yamada, Asai, Hajishirzi 2021). sentence-transformers calls it rescoring.
"""

import numpy as np
import scipy
from numpy.typing import NDArray

from hashbench.scoring.codes import Codes
from hashbench.scoring.histogram.ranking import blocks, hamming

Floats = NDArray[np.float64]


def reordered_recall(
    query: Codes, database: Codes, activations: NDArray[np.floating], neighbours: NDArray[np.integer], candidates: int
) -> Floats:
    """The share of the neighbours [q, k] (rows, -1: none) that is among the first k of the ordered candidates, [q].

    The candidates are the first so many by Hamming distance. They are ordered by <z, b> with the activations
    z [q, bits] and b in {-1, +1}, those of equal products by Hamming distance. It is the mean over all orders of the
    items that are tied at the distance where the candidates end, and of those that are equal in both. NaN for a query
    without neighbours.

    Of the g items at the last distance s are drawn. So the number of drawn ones among b of them is hypergeometric, and
    so is the number of places among the first k that a group of equal candidates gets.

    >>> from hashbench.scoring.codes import pack
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
    n_first = np.bincount(query_of_pair, _probabilities(np.concatenate(pairs), k), minlength=len(query))
    return np.divide(n_first, n_neighbours, out=np.full(len(query), np.nan), where=n_neighbours > 0)


def _pairs_of_query(
    distances: NDArray[np.int16],
    database: Codes,
    activations: NDArray[np.floating],
    neighbours: NDArray[np.integer],
    candidates: int,
) -> NDArray[np.int64]:
    """A row a neighbour that may be a candidate: is it tied; nearer and tied items ahead; equal ones; g; s. [n, 6]."""
    last = np.searchsorted(np.cumsum(np.bincount(distances)), candidates)
    items = np.flatnonzero(distances <= last)
    n_tied = int((distances[items] == last).sum())
    n_drawn = candidates - (len(items) - n_tied)
    products = database[items].bits() @ activations.astype(np.float64)  # of 0 and 1: the same order
    order = np.lexsort((distances[items], -products))
    ordered = np.stack([-products, distances[items]])[:, order]
    starts_group = np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0))
    group = np.cumsum(starts_group) - 1
    first_of_group = np.flatnonzero(starts_group)
    is_tied = ordered[1] == last
    tied_before = np.cumsum(is_tied) - is_tied
    places = np.flatnonzero(np.isin(items[order], neighbours))
    first = first_of_group[group[places]]
    tied_ahead = tied_before[first]
    pairs = np.empty((len(places), 6), np.int64)
    pairs[:, 0] = is_tied[places]
    pairs[:, 1] = first - tied_ahead
    pairs[:, 2] = tied_ahead
    pairs[:, 3] = np.bincount(group)[group[places]]
    pairs[:, 4:] = n_tied, n_drawn
    return pairs


def _probabilities(pairs: NDArray[np.int64], k: int) -> Floats:
    """The probability that each neighbour is among the first k, float64[n]."""
    is_tied, nearer, tied, n_equal, n_tied, n_drawn = pairs.T
    room = np.maximum(k - nearer, 0)
    ahead = _mean_of_least(tied, room, n_tied, n_drawn)  # of the room, what drawn items ahead take
    with_equals = _mean_of_least(np.where(is_tied, tied + n_equal, tied), room, n_tied, n_drawn)
    rest = np.maximum(room - n_equal, 0)  # of the room, what a group of nearer items leaves
    left = rest - _mean_of_least(tied, rest, n_tied, n_drawn)
    places = np.where(is_tied, with_equals - ahead, room - ahead - left)
    return np.asarray(places / n_equal)


def _mean_of_least(
    n_good: NDArray[np.int64], most: NDArray[np.int64], n_tied: NDArray[np.int64], n_drawn: NDArray[np.int64]
) -> Floats:
    """The mean of min(X, most), X the number of the ``n_good`` among ``n_drawn`` of ``n_tied`` items, float64[n]."""
    counts = np.arange(most.max(initial=0))
    exceeds = scipy.stats.hypergeom.sf(counts, n_tied[:, None], n_good[:, None], n_drawn[:, None])
    return np.asarray(np.where(counts < most[:, None], exceeds, 0.0).sum(axis=1))
