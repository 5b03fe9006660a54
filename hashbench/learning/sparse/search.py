"""The search of an index: the items in the buckets of a query, ranked by the distance in the base embedding."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import bar
from hashbench.learning.sparse.codes import preference
from hashbench.learning.sparse.index import Index, as_float32, squared_norms
from hashbench.scoring.histogram.numba_kernel import compiled, inner

Doubles = NDArray[np.float64]
Longs = NDArray[np.int64]
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

QUERY_BLOCK = 1000  # queries that are searched together
PRODUCT_VALUES = 1 << 19  # the values of one matrix product: 2 MiB
LEAST_ITEMS = 1 << 10  # the fewest items of one matrix product, for any number of queries
ROUNDING = 2.0**-24  # the relative rounding error of float32
TINY = 2.0**-120  # more than the error of products that underflow to 0 in float32


class SearchResult(NamedTuple):
    """The nearest items of each query, by distance, then by id, and their Euclidean distances."""

    ids: Longs  # [q, top]
    distances: Doubles  # [q, top]
    n_candidates: Longs  # [q]: the different items in the buckets that a query opened
    n_opened: Longs  # [q]: the number of these buckets


def query(
    index: Index,
    activations: NDArray[np.floating],  # [q, d]
    embeddings: NDArray[np.floating],  # [q, m]
    top: int,
    *,
    exclude: Longs | None = None,  # [q], an item that is no candidate (such as the query itself), or -1
    workers: int | None = None,  # threads; None: one for each core of this process
    progress: bool = False,
) -> SearchResult:
    """The ``top`` nearest items to each query among those in its buckets.

    A query opens the buckets of its k largest activations, then the buckets of the next largest until the opened
    buckets hold ``top`` items. A distance is Euclidean, between embeddings in float32, computed in float64.
    """
    n = len(activations)
    n_items = len(index)
    width = index.embeddings.shape[1]
    if embeddings.shape != (n, width) or activations.shape != (n, index.codes.d):
        shapes = f"activations of shape {activations.shape}, embeddings of shape {embeddings.shape}"
        raise HashbenchError(f"{shapes}: [{n}, {index.codes.d}] and [{n}, {width}] are expected, as of the items")
    excluded = np.full(n, -1)
    if exclude is not None:
        excluded = exclude
    most = n_items - int((excluded >= 0).any())
    if not 1 <= top <= most:
        raise HashbenchError(f"top {top}: a query can find 1 to {most} items")
    queries = as_float32(embeddings)
    ids = np.full((n, top), -1)
    squared = np.full((n, top), np.inf)
    n_candidates = np.zeros(n, np.int64)
    n_opened = np.zeros(n, np.int64)

    def search(part: slice) -> int:
        order = preference(activations[part])
        _open_buckets(
            order, top, index.codes.buckets, index.indptr, index.ids, excluded[part], n_candidates[part], n_opened[part]
        )
        is_opened = np.arange(order.shape[1]) < n_opened[part, None]
        for bucket in np.unique(order[is_opened]):
            rows = part.start + np.flatnonzero((is_opened & (order == bucket)).any(axis=1))
            _search_bucket(
                index, slice(index.indptr[bucket], index.indptr[bucket + 1]), queries, excluded, rows, squared, ids
            )
        return part.stop - part.start

    pool = ThreadPoolExecutor(workers or available_cores())
    with threadpool_limits(1, "blas"), pool, bar("search", "query", n, shown=progress) as shown:
        for n_searched in pool.map(search, slices(n, QUERY_BLOCK)):
            shown.update(n_searched)
    return SearchResult(ids, np.sqrt(squared), n_candidates, n_opened)


def _search_bucket(
    index: Index, entries: slice, queries: Floats, exclude: Longs, rows: Longs, best: Doubles, best_id: Longs
) -> None:
    """Inserts the nearest items of a bucket into the ``rows`` of ``best`` and ``best_id`` [q, top].

    Matrix products in float32 only exclude items that are too far away by more than rounding.
    """
    norms = squared_norms(queries[rows])
    for part in slices(entries.stop - entries.start, max(LEAST_ITEMS, PRODUCT_VALUES // len(rows))):
        tile = slice(entries.start + part.start, entries.start + part.stop)
        items = index.embeddings[tile]
        item_norms = squared_norms(items)
        reach = np.sqrt(norms) + np.sqrt(item_norms.max())
        slack = (items.shape[1] + 8) * ROUNDING * reach**2 + TINY
        product = queries[rows] @ items.T
        _keep_nearest(product, item_norms, norms - slack, items, index.ids[tile], queries, exclude, rows, best, best_id)


@compiled
def _open_buckets(
    order: Ints, top: int, codes: Ints, indptr: Longs, ids: Ints, exclude: Longs, n_items: Longs, n_opened: Longs
) -> None:
    """Opens buckets ``order`` [q, d] of each query: k of them, and more until they hold ``top`` different items."""
    k = codes.shape[1]
    is_open = np.zeros(len(indptr) - 1, np.bool_)
    for q in range(len(order)):
        while n_opened[q] < k or n_items[q] < top:
            bucket = order[q, n_opened[q]]
            for item in ids[indptr[bucket] : indptr[bucket + 1]]:
                n_items[q] += item != exclude[q] and not (k > 1 and _is_in_one(codes[item], is_open))
            is_open[bucket] = True
            n_opened[q] += 1
        is_open[:] = False


@compiled
def _keep_nearest(
    product: Floats, item_norms: Doubles, least: Doubles, items: Floats, ids: Ints, queries: Floats, exclude: Longs,
    rows: Longs, best: Doubles, best_id: Longs,
) -> None:  # fmt: skip
    for i in range(len(rows)):
        q = rows[i]
        nearest = best[q]
        for j in range(len(ids)):
            is_too_far = least[i] + item_norms[j] - 2 * np.float64(product[i, j]) > nearest[-1]
            if not is_too_far and ids[j] != exclude[q]:
                _insert(_squared_distance(queries[q], items[j]), ids[j], nearest, best_id[q])


@inner
def _is_in_one(buckets: Ints, is_open: Any) -> bool:
    is_in_one = False
    for bucket in buckets:
        is_in_one |= is_open[bucket]
    return is_in_one


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
def _insert(distance: float, item: int, best: Doubles, best_id: Longs) -> None:
    """Inserts an item into ``best``, ordered by distance, then id, unless it is there or is too far."""
    last = len(best) - 1
    at = last + 1
    while at > 0 and (best[at - 1] > distance or (best[at - 1] == distance and best_id[at - 1] > item)):
        at -= 1
    if at > last or (at > 0 and best_id[at - 1] == item):
        return
    for i in range(last, at, -1):
        best[i] = best[i - 1]
        best_id[i] = best_id[i - 1]
    best[at] = distance
    best_id[at] = item
