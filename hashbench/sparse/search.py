"""Searching an index: the union of a query's buckets, in order of the distance in the base embedding."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from hashbench.errors import HashbenchError
from hashbench.histogram.numba_kernel import slices
from hashbench.parallel import available_cores
from hashbench.sparse._search_numba import keep_nearest, merge, open_buckets
from hashbench.sparse.codes import SparseCodes, preference, top_k
from hashbench.sparse.index import Index, as_float32, build, squared_norms

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Doubles = NDArray[np.float64]
Longs = NDArray[np.int64]
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

QUERY_BLOCK = 256  # queries of one product
PRODUCT_VALUES = 1 << 19  # of one product, 2 MiB
FEW_QUERIES = 16  # for which a BLAS is twice as fast with the items on the left
LEAST_ITEMS = 1 << 10  # of one product, however many queries
PLACES = 1 << 22  # nearest items held before buckets are merged, 64 MiB
ROUNDING = 2.0**-24  # of float32
TINY = 2.0**-120  # above what is lost where products of float32 come out as zero


class SearchResult(NamedTuple):
    """The nearest items of each query, ``ids`` int64[q, top], and ``distances`` float64[q, top] to them.

    In order of the distance and then of the id. ``n_candidates`` int64[q] counts the different items in the buckets
    that were opened, ``n_opened`` int64[q] these buckets.
    """

    ids: Longs
    distances: Doubles
    n_candidates: Longs
    n_opened: Longs


@dataclass(frozen=True, eq=False)
class _Queries:
    """``embeddings`` float32[q, m], their squared norms, and the item that each query must not find (-1: none)."""

    embeddings: Floats
    norms: Doubles
    exclude: Longs

    def take(self, rows: Longs) -> "_Queries":
        """Some of the queries."""
        return _Queries(self.embeddings[rows], self.norms[rows], self.exclude[rows])


@dataclass(frozen=True, eq=False)
class _Plan:
    """The buckets to search: query q opens bucket[first[q]:first[q + 1]]; ``n_candidates`` int64[q] in them."""

    first: Longs
    bucket: Ints
    n_candidates: Longs

    def batches(self, most: int) -> Iterator[slice]:
        """Runs of queries that open at most so many buckets together, or of one query."""
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

    ``activations`` float[q, d] say which buckets: those of the query's k largest, k being that of the index, and the
    next largest after them while the buckets opened hold fewer than ``top`` items. ``embeddings`` float[q, m] are in
    the space of the index. ``exclude`` int64[q] names an item for each query that it does not retrieve, itself where
    it stands in the index, or -1; it is no candidate.

    Distances are Euclidean between embeddings in float32, each summed in float64 over the differences: exact in that
    sense whatever the number of workers, queries or buckets. Matrix products in float32 only sort out what is too far
    away by more than their rounding.

    Queries are grouped by bucket, each group is a matrix product with a contiguous slice, and groups are shared out
    among ``workers`` threads (one for each core this process may use); meanwhile the process's BLAS is held to one
    thread a product, so that no two pools fight. Another width, and a ``top`` that is not 1 .. n, raise HashbenchError.
    """
    queries = _checked(index, embeddings, len(activations), top, exclude)
    if activations.ndim != 2 or activations.shape[1] != index.codes.d:
        raise HashbenchError(f"activations of shape {activations.shape}: the index has {index.codes.d} buckets")
    best, best_id = _empty_results(len(activations), top)
    with _threads(workers) as pool, tqdm(total=len(activations), **_bar_options(progress)) as bar:
        plan = _plan(pool, index, activations, queries.exclude, top)
        for rows in plan.batches(PLACES // top):
            _search(pool, index, queries, plan, rows, best[rows], best_id[rows])
            bar.update(rows.stop - rows.start)
    if (best_id < 0).any():
        raise HashbenchError("index: damaged, for some of its distances are not finite: build it again")
    return SearchResult(best_id, np.sqrt(best), plan.n_candidates, np.diff(plan.first))


def exhaustive(
    items: NDArray[np.floating],
    embeddings: NDArray[np.floating],
    top: int,
    *,
    exclude: Longs | None = None,
    workers: int | None = None,
) -> SearchResult:
    """The ``top`` nearest of all ``items`` [n, m] to each query, ``embeddings`` [q, m]: the search of one bucket.

    >>> exhaustive(np.array([[0.0], [3.0], [1.0]]), np.array([[2.0]]), top=2)[:2]
    (array([[1, 2]]), array([[1., 1.]]))
    """
    index = build(SparseCodes(np.zeros((len(items), 1), np.int32), d=1), items)
    return query(index, np.zeros((len(embeddings), 1)), embeddings, top, exclude=exclude, workers=workers)


def _checked(
    index: Index, embeddings: NDArray[np.floating], n_queries: int, top: int, exclude: Longs | None
) -> _Queries:
    if embeddings.ndim != 2 or embeddings.shape[1] != index.width or len(embeddings) != n_queries:
        raise HashbenchError(
            f"embeddings of shape {embeddings.shape}, {n_queries} queries: [{n_queries}, {index.width}] is expected, "
            f"for those of the index have width {index.width}"
        )
    excluded = np.full(n_queries, -1) if exclude is None else np.asarray(exclude)
    n_items, most = len(index), len(index) - int((excluded >= 0).any())
    if excluded.shape != (n_queries,) or excluded.dtype.kind not in "ui" or (excluded >= n_items).any():
        raise HashbenchError(f"exclude: an item of 0 .. {n_items - 1} for each of {n_queries} queries, or -1")
    if not 1 <= top <= most:
        raise HashbenchError(f"top {top}: a query can find 1 to {most} items")
    rows = as_float32(embeddings)
    return _Queries(rows, squared_norms(rows), excluded.astype(np.int64))


@contextmanager
def _threads(workers: int | None) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads, beside which a BLAS keeps to the thread that calls it."""
    with _libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(workers or available_cores()) as pool:
        yield pool


@cache
def _libraries() -> "ThreadpoolController":
    """The loaded libraries with threads, looked for once: that takes milliseconds, more than a query does."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _run_parts(pool: ThreadPoolExecutor, job: Callable[[Any], None], parts: Iterable[Any]) -> None:
    """Does each part; one alone is done here, for to hand it over takes longer than a query does."""
    listed = list(parts)
    if len(listed) == 1:
        job(listed[0])
    else:
        list(pool.map(job, listed))


def _bar_options(progress: bool) -> dict[str, Any]:
    disable = None if progress else True  # None: shown on a terminal only
    return {"desc": "search", "unit": "query", "leave": False, "disable": disable, "delay": 2}


def _empty_results(n_rows: int, top: int) -> tuple[Doubles, Longs]:
    """Squared distances and ids of no items yet."""
    return np.full((n_rows, top), np.inf), np.full((n_rows, top), -1)


def _plan(pool: ThreadPoolExecutor, index: Index, activations: NDArray[np.floating], exclude: Longs, top: int) -> _Plan:
    order = top_k(activations, index.codes.k).buckets
    n_opened, n_candidates = _open(pool, index, order, exclude, top)
    is_short = n_candidates < top
    further = preference(activations[is_short])
    n_opened[is_short], n_candidates[is_short] = _open(pool, index, further, exclude[is_short], top)
    first, of_short = np.concatenate([[0], np.cumsum(n_opened)]), np.repeat(is_short, n_opened)
    bucket = np.empty(len(of_short), np.int32)
    bucket[~of_short] = order[~is_short].ravel()
    bucket[of_short] = further[np.arange(index.codes.d) < n_opened[is_short, None]]
    return _Plan(first, bucket, n_candidates)


def _open(pool: ThreadPoolExecutor, index: Index, order: Ints, exclude: Longs, top: int) -> tuple[Longs, Longs]:
    """How many buckets of ``order`` int32[q, o] are opened, and how many different items they hold, int64[q] each."""
    n_opened, n_candidates = np.zeros(len(order), np.int64), np.zeros(len(order), np.int64)
    codes = index.codes

    def job(rows: slice) -> None:
        open_buckets(
            order[rows], codes.k, top, codes.buckets, index.indptr, index.ids, exclude[rows], n_opened[rows],
            n_candidates[rows],
        )  # fmt: skip

    _run_parts(pool, job, slices(len(order), QUERY_BLOCK))
    return n_opened, n_candidates


def _search(
    pool: ThreadPoolExecutor, index: Index, queries: _Queries, plan: _Plan, rows: slice, best: Doubles, best_id: Longs
) -> None:
    """Writes the nearest items of the queries ``rows`` to ``best`` and ``best_id`` [rows, top]."""
    first = plan.first[rows.start : rows.stop + 1] - plan.first[rows.start]
    bucket = plan.bucket[plan.first[rows.start] : plan.first[rows.stop]]
    query_rows = np.repeat(np.arange(rows.start, rows.stop), np.diff(first))
    found, found_id = _empty_results(len(bucket), best.shape[1])

    def job(pairs: NDArray[np.intp]) -> None:
        nearest, nearest_id = _empty_results(len(pairs), best.shape[1])
        _search_bucket(index, int(bucket[pairs[0]]), queries.take(query_rows[pairs]), nearest, nearest_id)
        found[pairs], found_id[pairs] = nearest, nearest_id

    _run_parts(pool, job, _groups(bucket))
    merge(first, found, found_id, best, best_id)


def _groups(bucket: Ints) -> Iterator[NDArray[np.intp]]:
    """The places of each bucket in ``bucket``, some hundreds at a time."""
    order = np.argsort(bucket, kind="stable")
    starts = np.flatnonzero(np.diff(bucket[order], prepend=-1))
    for run in np.split(order, starts[1:]):
        for part in slices(len(run), QUERY_BLOCK):
            yield run[part]


def _search_bucket(index: Index, bucket: int, queries: _Queries, best: Doubles, best_id: Longs) -> None:
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
