"""The search of an index: the items in the buckets of a query, ranked by the distance in the base embedding."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import bar
from hashbench.sparse._search_numba import keep_nearest, merge, open_buckets
from hashbench.sparse.codes import preference, top_k
from hashbench.sparse.index import Index, Sizes, as_float32, squared_norms

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
ROUNDING = 2.0**-24  # the relative rounding error of float32
TINY = 2.0**-120  # more than the error of products that underflow to 0 in float32


class SearchResult(NamedTuple):
    """The nearest items of each query, ``ids`` int64[q, top], and ``distances`` float64[q, top] to them.

    They are ordered by distance, then by id. ``n_candidates`` int64[q] is the number of different items in the buckets
    that a query opened, ``n_opened`` int64[q] the number of these buckets.
    """

    ids: Longs
    distances: Doubles
    n_candidates: Longs
    n_opened: Longs


@dataclass(frozen=True, eq=False)
class Queries:
    """``embeddings`` float32[q, m], their squared norms, and the item that each query must not find (-1: none)."""

    embeddings: Floats
    norms: Doubles
    exclude: Longs

    def take(self, rows: Longs) -> "Queries":
        """Some of the queries."""
        return Queries(self.embeddings[rows], self.norms[rows], self.exclude[rows])

    def of_shard(self, first: int, n_items: int) -> "Queries":
        """The queries for a shard with the items ``first`` .. first + n_items - 1, numbered from 0 there."""
        is_here = (first <= self.exclude) & (self.exclude < first + n_items)
        return replace(self, exclude=np.where(is_here, self.exclude - first, -1))


@dataclass(frozen=True, eq=False)
class Plan:
    """The buckets to search: query q opens bucket[first[q]:first[q + 1]], which hold n_candidates[q] items."""

    first: Longs
    bucket: Ints
    n_candidates: Longs

    def batches(self, most: int) -> Iterator[slice]:
        """Slices of queries that together open at most ``most`` buckets (or one query, if it opens more)."""
        start = 0
        while start < len(self.n_candidates):
            fitting = int(np.searchsorted(self.first, self.first[start] + most, side="right")) - 1
            yield slice(start, start := max(fitting, start + 1))


def query(
    index: Index,
    activations: NDArray[np.floating],
    embeddings: NDArray[np.floating],
    top: int,
    *,
    exclude: Longs | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> SearchResult:
    """The ``top`` nearest items to each query among those in its buckets.

    A query opens the buckets of its k largest ``activations`` float[q, d] (k is that of the index), then the buckets of
    the next largest until the opened buckets hold ``top`` items. ``embeddings`` float[q, m] are compared with those in
    the index. ``exclude`` int64[q] is an item for each query that it does not retrieve and that is no candidate (such
    as itself), or -1.

    A distance is Euclidean, between embeddings in float32, computed in float64 as the sum of squared differences: so
    the number of workers, queries or buckets does not change the result. Matrix products in float32 only exclude items
    that are too far away by more than the rounding error.

    Queries are grouped by bucket. Each group is a matrix product with a contiguous slice of the index, and ``workers``
    threads work on the groups (None: one for each core of this process). Meanwhile BLAS uses one thread for each
    product, so that the two thread pools do not compete. Raises HashbenchError for embeddings of another width, and
    unless 1 <= ``top`` <= the number of items.
    """
    queries = checked_queries(index.sizes, activations, embeddings, top, exclude)
    best, best_id = empty_results(len(activations), top)
    with threads(workers) as pool, bar("search", "query", len(activations), shown=progress) as shown:
        plan = _plan(pool, index, activations, queries.exclude, top)
        for n_done in search_planned(pool, index, queries, plan, best, best_id):
            shown.update(n_done)
    return result(best, best_id, plan.n_candidates, np.diff(plan.first))


def result(best: Doubles, best_id: Longs, n_candidates: Longs, n_opened: Longs) -> SearchResult:
    """The result of squared distances ``best`` [q, top]; raises HashbenchError where an item is missing."""
    if (best_id < 0).any():
        raise HashbenchError("index: damaged, for some of its distances are not finite: build it again")
    return SearchResult(best_id, np.sqrt(best), n_candidates, n_opened)


def checked_queries(
    sizes: Sizes,
    activations: NDArray[np.floating],
    embeddings: NDArray[np.floating],
    top: int,
    exclude: Longs | None,
) -> Queries:
    """The queries; raises HashbenchError if they do not fit an index of these ``sizes``."""
    n_queries, n_items = len(activations), sizes.n_items
    if embeddings.ndim != 2 or embeddings.shape[1] != sizes.width or len(embeddings) != n_queries:
        raise HashbenchError(
            f"embeddings of shape {embeddings.shape}, {n_queries} queries: [{n_queries}, {sizes.width}] is expected, "
            f"for those of the index have width {sizes.width}"
        )
    if activations.ndim != 2 or activations.shape[1] != sizes.d:
        raise HashbenchError(f"activations of shape {activations.shape}: the index has {sizes.d} buckets")
    excluded = np.full(n_queries, -1) if exclude is None else np.asarray(exclude)
    most = n_items - int((excluded >= 0).any())
    if excluded.shape != (n_queries,) or excluded.dtype.kind not in "ui" or (excluded >= n_items).any():
        raise HashbenchError(f"exclude: an item of 0 .. {n_items - 1} for each of {n_queries} queries, or -1")
    if not 1 <= top <= most:
        raise HashbenchError(f"top {top}: a query can find 1 to {most} items")
    rows = as_float32(embeddings)
    return Queries(rows, squared_norms(rows), excluded.astype(np.int64))


@contextmanager
def threads(workers: int | None) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads; during the block BLAS runs in the thread that calls it."""
    with _libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(workers or available_cores()) as pool:
        yield pool


@cache
def _libraries() -> "ThreadpoolController":
    """The loaded libraries that have thread pools. They are looked up once, which takes longer than a query."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def run_parts(pool: ThreadPoolExecutor, job: Callable[[Any], None], parts: Iterable[Any]) -> None:
    """Calls ``job`` for each part in the pool; a single part runs in this thread, because a hand-over takes longer."""
    listed = list(parts)
    if len(listed) == 1:
        job(listed[0])
    else:
        list(pool.map(job, listed))


def empty_results(n_rows: int, top: int) -> tuple[Doubles, Longs]:
    """Squared distances (infinite) and ids (-1) of ``top`` items for each row, to be filled by the search."""
    return np.full((n_rows, top), np.inf), np.full((n_rows, top), -1)


def _plan(pool: ThreadPoolExecutor, index: Index, activations: NDArray[np.floating], exclude: Longs, top: int) -> Plan:
    order = top_k(activations, index.codes.k).buckets
    n_opened, n_candidates = count_open(pool, index, order, exclude, top)
    is_short = n_candidates < top
    further = preference(activations[is_short])
    n_opened[is_short], n_candidates[is_short] = count_open(pool, index, further, exclude[is_short], top)
    first, of_short = np.concatenate([[0], np.cumsum(n_opened)]), np.repeat(is_short, n_opened)
    bucket = np.empty(len(of_short), np.int32)
    bucket[~of_short] = order[~is_short].ravel()
    bucket[of_short] = further[np.arange(index.codes.d) < n_opened[is_short, None]]
    return Plan(first, bucket, n_candidates)


def count_open(pool: ThreadPoolExecutor, index: Index, order: Ints, exclude: Longs, top: int) -> tuple[Longs, Longs]:
    """The number of buckets of ``order`` int32[q, o] that are opened, and of different items in them, int64[q] each."""
    n_opened, n_candidates = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    codes = index.codes

    def job(rows: slice) -> None:
        open_buckets(
            order[rows], codes.k, top, codes.buckets, index.indptr, index.ids, exclude[rows], n_opened[rows],
            n_candidates[rows],
        )  # fmt: skip

    run_parts(pool, job, slices(len(order), QUERY_BLOCK))
    return n_opened, n_candidates


def search_planned(
    pool: ThreadPoolExecutor,
    index: Index,
    queries: Queries,
    plan: Plan,
    best: Doubles,
    best_id: Longs,
    first_id: int = 0,
) -> Iterator[int]:
    """Inserts the nearest items in the planned buckets into ``best`` and ``best_id`` [q, top]; yields as it goes.

    It yields the number of queries that are done with since the last time. Items are numbered from ``first_id`` on.
    """
    for rows in plan.batches(PLACES // best.shape[1]):
        _search(pool, index, queries, plan, rows, best[rows], best_id[rows], first_id)
        yield rows.stop - rows.start


def _search(
    pool: ThreadPoolExecutor,
    index: Index,
    queries: Queries,
    plan: Plan,
    rows: slice,
    best: Doubles,
    best_id: Longs,
    first_id: int,
) -> None:
    """Inserts the nearest items of the queries ``rows`` into ``best`` and ``best_id`` [rows, top]."""
    first = plan.first[rows.start : rows.stop + 1] - plan.first[rows.start]
    bucket = plan.bucket[plan.first[rows.start] : plan.first[rows.stop]]
    query_rows = np.repeat(np.arange(rows.start, rows.stop), np.diff(first))
    found, found_id = empty_results(len(bucket), best.shape[1])

    def job(pairs: NDArray[np.intp]) -> None:
        nearest, nearest_id = empty_results(len(pairs), best.shape[1])
        _search_bucket(index, int(bucket[pairs[0]]), queries.take(query_rows[pairs]), nearest, nearest_id)
        found[pairs], found_id[pairs] = nearest, nearest_id

    run_parts(pool, job, _groups(bucket))
    merge(first, found, found_id, first_id, best, best_id)


def _groups(bucket: Ints) -> Iterator[NDArray[np.intp]]:
    """The indices of equal values in ``bucket``, at most QUERY_BLOCK at a time."""
    order = np.argsort(bucket, kind="stable")
    starts = np.flatnonzero(np.diff(bucket[order], prepend=-1))
    for run in np.split(order, starts[1:]):
        for part in slices(len(run), QUERY_BLOCK):
            yield run[part]


def _search_bucket(index: Index, bucket: int, queries: Queries, best: Doubles, best_id: Longs) -> None:
    entries = slice(index.indptr[bucket], index.indptr[bucket + 1])
    longest = np.sqrt(np.float64(index.norms[entries].max(initial=0)))
    slack = (index.width + 8) * ROUNDING * (np.sqrt(queries.norms) + longest) ** 2 + TINY
    for part in slices(entries.stop - entries.start, max(LEAST_ITEMS, PRODUCT_VALUES // len(best))):
        tile = slice(entries.start + part.start, entries.start + part.stop)
        items, norms, ids = index.embeddings[tile], index.norms[tile], index.ids[tile]
        product = _product(queries.embeddings, items)
        query_rows = (queries.embeddings, queries.norms, slack, queries.exclude)
        keep_nearest(product, norms, items, ids, *query_rows, best, best_id)


def _product(queries: Floats, items: Floats) -> Floats:
    """<query, item> for each pair, float32[q, n]."""
    if len(queries) > FEW_QUERIES:
        return queries @ items.T
    return np.ascontiguousarray((items @ queries.T).T)
