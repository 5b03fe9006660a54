"""The search of an index: the items in the buckets of a query, ranked by the distance in the base embedding."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import bar
from hashbench.sparse._search_numba import keep_nearest, merge, open_buckets
from hashbench.sparse.codes import preference, top_k
from hashbench.sparse.index import Index, as_float32, squared_norms

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Doubles = NDArray[np.float64]
Longs = NDArray[np.int64]
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

QUERY_BLOCK = 256  # the most queries of one matrix product
PRODUCT_VALUES = 1 << 19  # the values of one matrix product: 2 MiB
FEW_QUERIES = 16  # for so few queries BLAS is twice as fast with the items on the left
LEAST_ITEMS = 1 << 10  # the fewest items of one matrix product, for any number of queries
PLACES = 1 << 22  # the nearest items in memory before buckets are merged: 64 MiB
COUNTS = 1 << 25  # the counts of buckets in memory at a time: 256 MiB
ALL = np.iinfo(np.int64).max  # more items than there are: all given buckets are opened
ROUNDING = 2.0**-24  # the relative rounding error of float32
TINY = 2.0**-120  # more than the error of products that underflow to 0 in float32


class SearchResult(NamedTuple):
    """The nearest items of each query, by distance, then by id, and their Euclidean distances."""

    ids: Longs  # [q, top]
    distances: Doubles  # [q, top]
    n_candidates: Longs  # [q]: the different items in the buckets that a query opened
    n_opened: Longs  # [q]: the number of these buckets


class _Queries(NamedTuple):
    """Embeddings, their squared norms, and the item that each query must not find (-1: none)."""

    embeddings: Floats
    norms: Doubles
    exclude: Longs

    def take(self, rows: Longs) -> "_Queries":
        return _Queries(self.embeddings[rows], self.norms[rows], self.exclude[rows])


class _Plan(NamedTuple):
    """The buckets to search: query q opens bucket[first[q]:first[q + 1]]."""

    first: Longs
    bucket: Ints

    def batches(self, most: int) -> Iterator[slice]:
        """Slices of queries that together open at most ``most`` buckets (or one query, if it opens more)."""
        start = 0
        while start < len(self.first) - 1:
            fitting = int(np.searchsorted(self.first, self.first[start] + most, side="right")) - 1
            yield slice(start, start := max(fitting, start + 1))


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
    buckets hold ``top`` items.

    A distance is Euclidean, between embeddings in float32, computed in float64 as the sum of squared differences: so
    the number of workers, queries or buckets does not change the result. Matrix products in float32, of the
    queries of a bucket with a slice of the index, only exclude items that are too far away by more than rounding.
    """
    queries = _checked(index, activations, embeddings, top, exclude)
    k = index.codes.k
    order = top_k(activations, k).buckets
    plan = _Plan(np.arange(len(order) + 1) * k, order.ravel())
    best, best_id = _no_items(len(order), top)
    one_blas_thread = _libraries().limit(limits=1, user_api="blas")
    with one_blas_thread, ThreadPoolExecutor(workers or available_cores()) as pool:
        n_opened, n_candidates = _open(pool, index, order, queries.exclude, ALL)
        with bar("search", "query", len(order), shown=progress) as shown:
            _search(pool, index, queries, plan, best, best_id, shown.update)
        short = np.flatnonzero(n_candidates < top)
        for part in slices(len(short), max(1, COUNTS // index.codes.d)):
            rows = short[part]
            nearest = best[rows], best_id[rows]
            with bar("search further buckets", "query", len(rows), shown=progress) as shown:
                further = preference(activations[rows])
                counts = _search_further(pool, index, queries.take(rows), further, top, *nearest, shown.update)
            n_opened[rows], n_candidates[rows] = counts
            best[rows], best_id[rows] = nearest
    if (best_id < 0).any():
        raise HashbenchError("index: damaged, for some of its distances are not finite: build it again")
    return SearchResult(best_id, np.sqrt(best), n_candidates, n_opened)


def _search_further(
    pool: ThreadPoolExecutor, index: Index, queries: _Queries, order: Ints, top: int, best: Doubles, best_id: Longs,
    done: Callable[[int], object],
) -> tuple[Longs, Longs]:  # fmt: skip
    n_opened, n_candidates = _open(pool, index, order, queries.exclude, top)
    k = index.codes.k
    column = np.arange(order.shape[1])
    is_further = (column >= k) & (column < n_opened[:, None])
    plan = _Plan(np.concatenate([[0], np.cumsum(n_opened - k)]), order[is_further])
    _search(pool, index, queries, plan, best, best_id, done)
    return n_opened, n_candidates


def _checked(
    index: Index, activations: NDArray[Any], embeddings: NDArray[Any], top: int, exclude: Longs | None
) -> _Queries:
    sizes = index.sizes
    n_queries = len(activations)
    if embeddings.ndim != 2 or embeddings.shape[1] != sizes.width or len(embeddings) != n_queries:
        expected = f"[{n_queries}, {sizes.width}] is expected, for the embeddings in the index have width {sizes.width}"
        raise HashbenchError(f"embeddings of shape {embeddings.shape}, {n_queries} queries: {expected}")
    if activations.ndim != 2 or activations.shape[1] != sizes.d:
        raise HashbenchError(f"activations of shape {activations.shape}: the index has {sizes.d} buckets")
    excluded = np.full(n_queries, -1)
    if exclude is not None:
        excluded = np.asarray(exclude)
    most = sizes.n_items - int((excluded >= 0).any())
    if excluded.shape != (n_queries,) or excluded.dtype.kind not in "ui" or (excluded >= sizes.n_items).any():
        raise HashbenchError(f"exclude: an item of 0 .. {sizes.n_items - 1} for each of {n_queries} queries, or -1")
    if not 1 <= top <= most:
        raise HashbenchError(f"top {top}: a query can find 1 to {most} items")
    rows = as_float32(embeddings)
    return _Queries(rows, squared_norms(rows), excluded.astype(np.int64))


@cache
def _libraries() -> "ThreadpoolController":
    # looked up once, which takes longer than a query
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _run(pool: ThreadPoolExecutor, job: Callable[[Any], None], parts: Iterable[Any]) -> None:
    listed = list(parts)
    if len(listed) == 1:
        job(listed[0])
    else:
        list(pool.map(job, listed))


def _no_items(n_rows: int, top: int) -> tuple[Doubles, Longs]:
    return np.full((n_rows, top), np.inf), np.full((n_rows, top), -1)


def _open(pool: ThreadPoolExecutor, index: Index, order: Ints, exclude: Longs, top: int) -> tuple[Longs, Longs]:
    """The numbers int64[q] of the buckets that each query opens, and of the different items in them."""
    n_opened = np.empty(len(order), np.int64)
    n_items = np.empty(len(order), np.int64)

    def job(rows: slice) -> None:
        table = index.codes.buckets, index.indptr, index.ids
        open_buckets(order[rows], top, *table, exclude[rows], n_opened[rows], n_items[rows])

    _run(pool, job, slices(len(order), QUERY_BLOCK))
    return n_opened, n_items


def _search(
    pool: ThreadPoolExecutor, index: Index, queries: _Queries, plan: _Plan, best: Doubles, best_id: Longs,
    done: Callable[[int], object],
) -> None:  # fmt: skip
    top = best.shape[1]
    for rows in plan.batches(PLACES // top):
        first = plan.first[rows.start : rows.stop + 1] - plan.first[rows.start]
        bucket = plan.bucket[plan.first[rows.start] : plan.first[rows.stop]]
        query_rows = np.repeat(np.arange(rows.start, rows.stop), np.diff(first))
        nearest = _no_items(len(bucket), top)
        _run(pool, partial(_search_bucket, index, queries, query_rows, bucket, *nearest), _groups(bucket))
        merge(first, *nearest, best[rows], best_id[rows])
        done(rows.stop - rows.start)


def _groups(bucket: Ints) -> Iterator[NDArray[np.intp]]:
    order = np.argsort(bucket, kind="stable")
    starts = np.flatnonzero(np.diff(bucket[order], prepend=-1))
    for run in np.split(order, starts[1:]):
        for part in slices(len(run), QUERY_BLOCK):
            yield run[part]


def _search_bucket(
    index: Index,
    queries: _Queries,
    query_rows: Longs,
    bucket: Ints,
    all_best: Doubles,
    all_best_id: Longs,
    pairs: Longs,
) -> None:
    searching = queries.take(query_rows[pairs])
    at = bucket[pairs[0]]
    best, best_id = _no_items(len(pairs), all_best.shape[1])
    start = int(index.indptr[at])
    stop = int(index.indptr[at + 1])
    longest = np.sqrt(np.float64(index.norms[start:stop].max(initial=0)))
    slack = (index.embeddings.shape[1] + 8) * ROUNDING * (np.sqrt(searching.norms) + longest) ** 2 + TINY
    for part in slices(stop - start, max(LEAST_ITEMS, PRODUCT_VALUES // len(best))):
        tile = slice(start + part.start, start + part.stop)
        items = index.embeddings[tile]
        norms = index.norms[tile]
        ids = index.ids[tile]
        rows = searching.embeddings
        is_few = len(pairs) <= FEW_QUERIES
        if is_few:  # <query, item> [q, n]
            product = np.ascontiguousarray((items @ rows.T).T)
        else:
            product = rows @ items.T
        keep_nearest(product, norms, items, ids, rows, searching.norms, slack, searching.exclude, best, best_id)
    all_best[pairs] = best
    all_best_id[pairs] = best_id
