"""The compiled part of the search, without the GIL: the buckets that a query opens, and the nearest of their items."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram.numba_kernel import compiled, inner

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

LANES = 16  # lower bounds that are compared together without a branch, so that the compiler vectorises them


@compiled
def open_buckets(
    order: Ints, top: int, codes: Ints, indptr: Longs, ids: Ints, exclude: Longs, n_opened: Longs, n_items: Longs
) -> None:
    """Opens the buckets ``order`` [q, o] of each query until they hold ``top`` different items, ``n_items`` [q]."""
    is_open = np.zeros(len(indptr) - 1, np.bool_)
    for q in range(len(order)):
        n_items[q] = 0
        n_opened[q] = 0
        while n_opened[q] < order.shape[1] and n_items[q] < top:
            bucket = order[q, n_opened[q]]
            n_items[q] += _new_items(bucket, is_open, codes, indptr, ids, exclude[q])
            is_open[bucket] = True
            n_opened[q] += 1
        is_open[order[q, : n_opened[q]]] = False


@inner
def _new_items(bucket: int, is_open: Any, codes: Ints, indptr: Longs, ids: Ints, exclude: int) -> int:
    """The number of items in ``bucket`` that are in no open bucket, without ``exclude``."""
    n_new = indptr[bucket + 1] - indptr[bucket]
    if codes.shape[1] > 1:
        for entry in range(indptr[bucket], indptr[bucket + 1]):
            n_new -= np.int64(_is_seen(codes[ids[entry]], is_open))
    if exclude >= 0 and not _is_seen(codes[exclude], is_open):
        for other in codes[exclude]:
            n_new -= np.int64(other == bucket)
    return n_new


@inner
def _is_seen(buckets: Ints, is_open: Any) -> bool:
    seen = False
    for bucket in buckets:
        seen |= is_open[bucket]
    return seen


@compiled
def keep_nearest(
    product: Floats, norms: Floats, embeddings: Floats, ids: Ints, query: Floats, query_norm: Doubles, slack: Doubles,
    exclude: Longs, best: Doubles, best_id: Longs,
) -> None:  # fmt: skip
    """Inserts the items of a slice into ``best`` and ``best_id`` [q, top], the nearest items of some queries."""
    n = len(norms)
    for q in range(len(query)):
        limit = _limit(best[q], query_norm[q], slack[q])
        for start in range(0, n, LANES):
            stop = min(start + LANES, n)
            if not _any_below(product[q], norms, start, stop, limit):
                continue
            for i in range(start, stop):
                # so much of the squared distance is right up to ``slack``: what may be near gets it in float64
                if norms[i] - np.float32(2) * product[q, i] <= limit and ids[i] != exclude[q]:
                    insert(_squared_distance(query[q], embeddings[i]), ids[i], best[q], best_id[q])
                    limit = _limit(best[q], query_norm[q], slack[q])


@inner
def _limit(best: Doubles, query_norm: float, slack: float) -> Any:
    return np.float32(best[-1] - query_norm + slack)


@inner
def _any_below(product: Floats, norms: Floats, start: int, stop: int, limit: Any) -> bool:
    below = 0
    for i in range(start, stop):
        below += norms[i] - np.float32(2) * product[i] <= limit
    return below > 0


@inner
def _squared_distance(one: Floats, two: Floats) -> float:
    """|one - two|^2 in float64, in four independent sums: fast, and the same order of additions on every machine."""
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
def insert(distance: float, item: int, best: Doubles, best_id: Longs) -> None:
    """Inserts an item into ``best``, ordered by distance, then id, unless it is there or is too far."""
    last = len(best) - 1
    if distance > best[last] or (distance == best[last] and item >= best_id[last]):
        return
    at = last
    while at > 0 and (best[at - 1] > distance or (best[at - 1] == distance and best_id[at - 1] > item)):
        at -= 1
    if at > 0 and best[at - 1] == distance and best_id[at - 1] == item:
        return
    for i in range(last, at, -1):
        best[i] = best[i - 1]
        best_id[i] = best_id[i - 1]
    best[at] = distance
    best_id[at] = item


@compiled
def merge(first: Longs, best: Doubles, best_id: Longs, merged: Doubles, merged_id: Longs) -> None:
    """Merges the rows of ``best`` of each query q, from first[q] on, into ``merged``: each id once."""
    for q in range(len(merged)):
        for row in range(first[q], first[q + 1]):
            for i in range(best.shape[1]):
                if best_id[row, i] < 0:
                    break
                insert(best[row, i], best_id[row, i], merged[q], merged_id[q])
