"""The compiled part of the search: which buckets a query opens, and the nearest of their items.

Everything runs without the GIL, in threads that the caller owns.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram.numba_kernel import compiled, inner

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

LANES = 16  # lower bounds compared together, without a branch


@compiled
def open_buckets(
    order: Ints, least: int, top: int, codes: Ints, indptr: Longs, ids: Ints, exclude: Longs, n_opened: Longs, n: Longs
) -> None:
    """Opens the buckets of ``order`` int32[q, o] from the left: ``least``, and more while there are < ``top`` items.

    Writes how many were opened, ``n_opened`` [q], and how many different items they hold, ``n`` [q], without the item
    ``exclude`` [q] (negative: none).
    """
    is_open = np.zeros(len(indptr) - 1, np.bool_)
    for q in range(len(order)):
        n[q] = n_opened[q] = 0
        while n_opened[q] < order.shape[1] and (n_opened[q] < least or n[q] < top):
            bucket = order[q, n_opened[q]]
            n[q] += _new_items(bucket, is_open, codes, indptr, ids, exclude[q])
            is_open[bucket] = True
            n_opened[q] += 1
        is_open[order[q, : n_opened[q]]] = False


@inner
def _new_items(bucket: int, is_open: Any, codes: Ints, indptr: Longs, ids: Ints, exclude: int) -> int:
    """How many items of the bucket stand in none that is open already, ``exclude`` left out."""
    found = indptr[bucket + 1] - indptr[bucket]
    if codes.shape[1] > 1:
        for entry in range(indptr[bucket], indptr[bucket + 1]):
            found -= np.int64(_is_seen(codes[ids[entry]], is_open))
    if exclude >= 0 and not _is_seen(codes[exclude], is_open):
        for other in codes[exclude]:
            found -= np.int64(other == bucket)
    return found


@inner
def _is_seen(buckets: Ints, is_open: Any) -> bool:
    seen = False
    for bucket in buckets:
        seen |= is_open[bucket]
    return seen


@compiled
def keep_nearest(
    product: Floats,
    norms: Floats,
    embeddings: Floats,
    ids: Ints,
    query: Floats,
    query_norm: Doubles,
    slack: Doubles,
    exclude: Longs,
    best: Doubles,
    best_id: Longs,
) -> None:
    """Puts the items of a slice among the nearest so far, for some queries.

    ``product`` float32[q, n] is <query, item>; norm of item - 2 product + norm of query is the squared distance but for
    rounding, of which ``slack`` [q] is a bound. Where that leaves an item a chance, its squared distance is summed
    over the differences in float64, and it is put in its place in ``best`` [q, top] (ascending; infinite where there is
    none yet) and ``best_id``; equal ones in the order of ids.
    """
    n = len(norms)
    for q in range(len(query)):
        limit = _limit(best[q], query_norm[q], slack[q])
        for start in range(0, n, LANES):
            stop = min(start + LANES, n)
            if not _any_below(product[q], norms, start, stop, limit):
                continue
            for i in range(start, stop):
                if norms[i] - np.float32(2) * product[q, i] <= limit and ids[i] != exclude[q]:
                    place(_squared_distance(query[q], embeddings[i]), ids[i], best[q], best_id[q])
                    limit = _limit(best[q], query_norm[q], slack[q])


@inner
def _limit(best: Doubles, query_norm: float, slack: float) -> Any:
    """What norm of item - 2 product may be at most, for the item to come among the ``best``."""
    return np.float32(best[-1] - query_norm + slack)


@inner
def _any_below(product: Floats, norms: Floats, start: int, stop: int, limit: Any) -> bool:
    below = 0
    for i in range(start, stop):
        below += norms[i] - np.float32(2) * product[i] <= limit
    return below > 0


@inner
def _squared_distance(one: Floats, two: Floats) -> float:
    """Four sums side by side: the same on every machine, and none waits for another."""
    whole = len(one) - len(one) % 4
    a = b = c = d = 0.0
    for i in range(0, whole, 4):
        a += (np.float64(one[i]) - np.float64(two[i])) ** 2
        b += (np.float64(one[i + 1]) - np.float64(two[i + 1])) ** 2
        c += (np.float64(one[i + 2]) - np.float64(two[i + 2])) ** 2
        d += (np.float64(one[i + 3]) - np.float64(two[i + 3])) ** 2
    for i in range(whole, len(one)):
        a += (np.float64(one[i]) - np.float64(two[i])) ** 2
    return (a + b) + (c + d)


@inner
def place(distance: float, item: int, best: Doubles, best_id: Longs) -> None:
    """Puts an item among the ``best``, ordered by distance and then id, unless it is there or comes after all."""
    last = len(best) - 1
    if distance > best[last] or (distance == best[last] and item >= best_id[last]):
        return
    at = last
    while at > 0 and (best[at - 1] > distance or (best[at - 1] == distance and best_id[at - 1] > item)):
        at -= 1
    if at > 0 and best[at - 1] == distance and best_id[at - 1] == item:
        return
    for i in range(last, at, -1):
        best[i], best_id[i] = best[i - 1], best_id[i - 1]
    best[at], best_id[at] = distance, item


@compiled
def merge(first: Longs, best: Doubles, best_id: Longs, merged: Doubles, merged_id: Longs) -> None:
    """The nearest of each query, [q, top], from those of its buckets, [p, top]: rows first[q] .. first[q + 1] of them.

    An item that stands in several of the buckets is in one place.
    """
    for q in range(len(merged)):
        for row in range(first[q], first[q + 1]):
            for i in range(best.shape[1]):
                if best_id[row, i] < 0:
                    break
                place(best[row, i], best_id[row, i], merged[q], merged_id[q])
