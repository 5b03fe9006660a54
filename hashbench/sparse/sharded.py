"""The search of an index in shards: equal to that of one index of all items, with one shard in memory at a time."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.foundation.progress import bar
from hashbench.sparse import search
from hashbench.sparse._search_numba import count_opened
from hashbench.sparse.codes import preference, top_k
from hashbench.sparse.index import Index, Sizes
from hashbench.sparse.search import QUERY_BLOCK, Doubles, Ints, Longs, Plan, Queries, SearchResult

COUNTS = 1 << 25  # the counts of buckets in memory at a time: 256 MiB


@dataclass(frozen=True, eq=False)
class Shard:
    """A part of the items in an index of its own; ``first`` is the id of its first item among all."""

    first: int
    sizes: Sizes
    load: Callable[[], Index]


@dataclass(frozen=True, eq=False)
class ShardedIndex:
    """The shards of an index, in the order of their items."""

    shards: tuple[Shard, ...]

    @property
    def sizes(self) -> Sizes:
        """The sizes of the whole."""
        last = self.shards[-1]
        return last.sizes._replace(n_items=last.first + last.sizes.n_items)

    def loaded(self) -> Iterator[tuple[Shard, Index]]:
        """Each shard with its index, which is loaded when it is asked for; keep no reference to more than one."""
        for shard in self.shards:
            index = shard.load()
            if index.sizes != shard.sizes:
                raise HashbenchError(f"index: a file was replaced while it was searched: {index.sizes}; search again")
            yield shard, index
            del index  # before the next one is loaded


@dataclass(frozen=True, eq=False)
class _Search:
    """What all shards are searched for, and what was found so far: ``best`` and ``best_id`` [q, top]."""

    pool: ThreadPoolExecutor
    queries: Queries
    best: Doubles
    best_id: Longs

    def inside(self, shard: Shard, index: Index, plan: Plan) -> None:
        """Adds the nearest items in the planned buckets of a shard."""
        own = self.queries.of_shard(shard.first, len(index))
        for _ in search.search_planned(self.pool, index, own, plan, self.best, self.best_id, shard.first):
            pass

    def take(self, rows: Longs) -> "_Search":
        """The same for some of the queries, with a copy of what was found."""
        return _Search(self.pool, self.queries.take(rows), self.best[rows], self.best_id[rows])


def query(
    index: ShardedIndex,
    activations: NDArray[np.floating],
    embeddings: NDArray[np.floating],
    top: int,
    *,
    exclude: Longs | None = None,
    workers: int | None = None,
    progress: bool = False,
) -> SearchResult:
    """What ``search.query`` finds in one index of the items of all shards, to the bit; the arguments are its own.

    Ids, of items found and of those to ``exclude``, number the items of all shards in order. A query opens further
    buckets while those of all shards together hold fewer than ``top`` items. Each shard is loaded once, and twice more
    where there are such queries.
    """
    if len(index.shards) == 1:
        whole = index.shards[0].load()
        return search.query(whole, activations, embeddings, top, exclude=exclude, workers=workers, progress=progress)
    queries = search.checked_queries(index.sizes, activations, embeddings, top, exclude)
    order, k = top_k(activations, index.sizes.k).buckets, index.sizes.k
    n_candidates, n_opened = np.zeros(len(order), np.int64), np.full(len(order), k)
    with search.threads(workers) as pool:
        state = _Search(pool, queries, *search.empty_results(len(order), top))
        _search_first(index, state, order, n_candidates, progress)
        short = np.flatnonzero(n_candidates < top)
        for part in slices(len(short), max(1, COUNTS // index.sizes.d)):
            rows = short[part]
            of_rows = state.take(rows)
            opened, held = _search_further(index, of_rows, preference(activations[rows]), top, progress)
            state.best[rows], state.best_id[rows] = of_rows.best, of_rows.best_id
            n_opened[rows], n_candidates[rows] = opened, held
    return search.result(state.best, state.best_id, n_candidates, n_opened)


def _search_first(index: ShardedIndex, state: _Search, order: Ints, n_candidates: Longs, progress: bool) -> None:
    """Searches the buckets ``order`` int32[q, k], which each query opens, and adds the number of items in them."""
    n_queries, k = order.shape
    plan = Plan(np.arange(n_queries + 1) * k, order.ravel(), n_candidates)
    with bar("search", "shard", len(index.shards), shown=progress) as shown:
        for shard, part in index.loaded():
            own = state.queries.of_shard(shard.first, len(part))
            n_candidates += search.count_open(state.pool, part, order, own.exclude, 0)[1]
            state.inside(shard, part, plan)
            shown.update()
            del part


def _search_further(index: ShardedIndex, state: _Search, order: Ints, top: int, progress: bool) -> tuple[Longs, Longs]:
    """Searches the buckets after the first k of ``order`` int32[q, d] that are opened; the first k hold too few items.

    Returns the number of all opened buckets and of the items in them, int64[q] each.
    """
    k, rows = index.sizes.k, np.arange(len(order))
    held, n_opened = np.zeros(order.shape, np.int64), np.full(len(order), order.shape[1])
    with bar("search further buckets", "shard", 2 * len(index.shards), shown=progress) as shown:
        for shard, part in index.loaded():
            _count(state, shard, part, order, top, n_opened, held)
            shown.update()
            del part
        is_further = (np.arange(order.shape[1]) >= k) & (np.arange(order.shape[1]) < n_opened[:, None])
        plan = Plan(np.concatenate([[0], np.cumsum(n_opened - k)]), order[is_further], held[rows, n_opened - 1])
        for shard, part in index.loaded():
            state.inside(shard, part, plan)
            shown.update()
            del part
    return n_opened, plan.n_candidates


def _count(state: _Search, shard: Shard, index: Index, order: Ints, top: int, n_opened: Longs, held: Longs) -> None:
    """Adds the items of a shard to ``held`` int64[q, d], and lowers ``n_opened`` [q], as ``count_opened`` says."""
    codes, exclude = index.codes, state.queries.of_shard(shard.first, len(index)).exclude

    def job(rows: slice) -> None:
        count_opened(
            order[rows], top, codes.buckets, index.indptr, index.ids, exclude[rows], n_opened[rows], held[rows]
        )

    search.run_parts(state.pool, job, slices(len(order), QUERY_BLOCK))
