"""Rankings by real or weighted distances: they are sorted once, and each run of equal distances is a tie group."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.foundation.progress import with_bar
from hashbench.scoring.codes import Codes
from hashbench.scoring.histogram.counts import Histogram, Ints, require_bits
from hashbench.scoring.histogram.whole_weights import whole_weights
from hashbench.scoring.relevance.labels import Relevance
from hashbench.scoring.relevance.neighbours import NeighbourRelevance

Level = NDArray[np.uint16]  # indices of relevance levels
Array = NDArray[Any]
Ranked = Literal["weighted", "asymmetric"]  # searches whose distances are sorted
Distances = Callable[[slice], Array]  # of a block of queries to the whole database, [q, n]

PAIRS = 1 << 19  # query-database pairs sorted at a time: some tens of MB
PACKED_LIMIT = 1 << 62  # distance and level are sorted as one int64 below it
BITS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int64)


@dataclass(frozen=True)
class RankingHistogram(Histogram):
    """counts int64[q, g, v]: items with relevance levels[v] in tie group g of query q; the last may be empty."""


def grouped(distances: Array, level: Level, levels: Ints) -> RankingHistogram:
    """The tie groups of ``distances`` [q, n], ascending; equal values tie. ``level`` [q, n] indexes ``levels``."""
    if distances.dtype.kind == "i" and distances.max(initial=0) < PACKED_LIMIT // len(levels):
        # distance and level are one integer, so that values are sorted in place of indices (faster)
        packed = distances.astype(np.int64)
        packed *= len(levels)
        packed += level
        packed.sort(axis=1)
        distance, sorted_level = np.divmod(packed, len(levels))
        return in_runs(distance, sorted_level.astype(np.uint16), levels)
    order = np.argsort(distances, axis=1)
    return in_runs(np.take_along_axis(distances, order, axis=1), np.take_along_axis(level, order, axis=1), levels)


def in_runs(key: Array, level: Level, levels: Ints) -> RankingHistogram:
    """The tie groups of items that are already in order, [q, n]: one group for each run of equal ``key``."""
    n_queries, n_items = key.shape
    if n_items == 0:
        return RankingHistogram(np.zeros((n_queries, 1, len(levels)), np.int64), levels)
    group = np.zeros(key.shape, np.int64)
    np.cumsum(key[:, 1:] != key[:, :-1], axis=1, out=group[:, 1:])
    n_groups = int(group[:, -1].max(initial=0)) + 1
    group += np.arange(n_queries)[:, None] * n_groups
    group *= len(levels)
    group += level
    counts = np.bincount(group.ravel(), minlength=n_queries * n_groups * len(levels))
    return RankingHistogram(counts.reshape(n_queries, n_groups, len(levels)), levels)


def around_neighbours(distances: Array, ids: NDArray[np.integer]) -> RankingHistogram:
    """The tie groups of ``distances`` [q, n] where the items ``ids`` [q, k] (-1: none) are relevant, and no others.

    All items between two neighbours are one group, for their order changes no metric: so there are at most 2 k + 1, and
    distances are sorted without their items, up to the one of the last neighbour.
    """
    n_queries, n_items = distances.shape
    counts = np.zeros((n_queries, 2 * ids.shape[1] + 1, 2), np.int64)
    for q, near in enumerate(ids):
        of_query = distances[q]
        of_near, n_near = np.unique(of_query[near[near >= 0]], return_counts=True)
        ordered = of_near
        if len(of_near):
            ordered = np.sort(of_query[of_query <= of_near[-1]])
        ends = [np.searchsorted(ordered, of_near, side) for side in ("left", "right")]
        sizes = np.diff(np.stack(ends, axis=1).ravel(), prepend=0, append=n_items)
        counts[q, : len(sizes), 0] = sizes
        counts[q, 1 : len(sizes) : 2, 0] -= n_near
        counts[q, 1 : len(sizes) : 2, 1] = n_near
    return RankingHistogram(counts, np.array([0, 1]))


def merged_after(ranking: Histogram, rank: int | None) -> RankingHistogram:
    """``ranking`` with all groups that begin after ``rank`` (None: none) merged; metrics up to it are the same."""
    counts = ranking.counts
    if rank is None:
        return RankingHistogram(counts, ranking.levels)
    items = np.einsum("qdv->qd", counts[:, :rank])  # if no group is empty, so many groups reach the rank
    if items.shape[1] < counts.shape[1] and items.sum(axis=1).min(initial=rank) < rank:
        items = ranking.at_distance
    n_kept = int((items.cumsum(axis=1) - items < rank).sum(axis=1).max(initial=0))
    rest = np.einsum("qdv->qv", counts[:, n_kept:])[:, None]
    return RankingHistogram(np.concatenate([counts[:, :n_kept], rest], axis=1), ranking.levels)


def without_rank(ranking: RankingHistogram, rank: Ints, level: NDArray[np.integer]) -> RankingHistogram:
    """``ranking`` without one item of each query: of index ``level`` [q] at ``rank`` [q] from 0; -1: without none."""
    group = (ranking.at_distance.cumsum(axis=1) <= rank[:, None]).sum(axis=1)
    queries = np.flatnonzero(rank >= 0)
    counts = ranking.counts.copy()
    counts[queries, group[queries], level[queries]] -= 1
    return RankingHistogram(counts, ranking.levels)


def joined(blocks_of_queries: Sequence[RankingHistogram]) -> RankingHistogram:
    """The rankings of all queries of at least one block; queries with fewer groups get empty groups at the end."""
    n_queries, n_groups, n_levels = np.array([block.counts.shape for block in blocks_of_queries]).T
    counts = np.zeros((n_queries.sum(), n_groups.max(), n_levels[0]), np.int64)
    first = 0
    for block in blocks_of_queries:
        counts[first : first + block.n_queries, : block.counts.shape[1]] = block.counts
        first += block.n_queries
    return RankingHistogram(counts, blocks_of_queries[0].levels)


def rankings(distances: Distances, relevance: Relevance, own_rows: Ints | None = None) -> Iterator[RankingHistogram]:
    """The tie groups of all queries without their ``own_rows`` [q] (-1: none); HashbenchError if not finite."""
    for rows in blocks(*relevance.shape):
        block = finite(distances(rows))
        items = np.full(len(block), -1)
        if own_rows is not None:
            items = own_rows[rows]
        if isinstance(relevance, NeighbourRelevance):
            ranked = around_neighbours(block, relevance.ids[rows])
            level_of_own = relevance.pairs(np.arange(rows.start, rows.start + len(block)), np.maximum(items, 0))
        else:
            level = relevance.block(rows, slice(0, relevance.shape[1]))
            ranked = grouped(block, level, relevance.levels)
            level_of_own = of_item(level, items)
        if own_rows is not None:
            nearer = (block < of_item(block, items)[:, None]).sum(axis=1)
            ranked = without_rank(ranked, np.where(items >= 0, nearer, -1), level_of_own)
        yield ranked


def of_item(values: Array, item: Ints) -> Array:
    """The value of one item of each query, [q]; of the first where there is none."""
    return np.take_along_axis(values, np.maximum(item, 0)[:, None], axis=1)[:, 0]


def finite(distances: Array) -> Array:
    """``distances`` themselves; raises HashbenchError where one is NaN or infinite."""
    if not np.isfinite(distances).all():
        raise HashbenchError("distances: not finite (NaN or inf); they rank nothing")
    return distances


def blocks(n_queries: int, n_items: int) -> Iterator[slice]:
    """Runs of queries with about ``PAIRS`` pairs each; one empty run where there is no query."""
    return slices(max(1, n_queries), max(1, PAIRS // max(1, n_items)))


def hamming(query: Codes, database: Codes) -> Distances:
    """Hamming distances, int16[q, n]."""
    require_bits(query.n_bits, database.n_bits)

    def distances(rows: slice) -> Array:
        block = np.zeros((len(query.words[rows]), len(database)), np.int16)  # 4,096 bits fit
        for word in range(query.words.shape[1]):
            block += np.bitwise_count(query.words[rows, word, None] ^ database.words[None, :, word])
        return block

    return distances


def weighted_hamming(query: Codes, database: Codes, weights: Array) -> Distances:
    """Weighted Hamming distances, int64[q, n]: the sum of the weights of the bits that differ.

    ``weights`` is [bits], or [q, bits] for weights of each query, each 0 or more. They become whole numbers once, by
    ``whole_weights``: distances are sums of these, so equal ones tie, in whatever order the weights are added. Raises
    HashbenchError for weights that are negative, not finite or of another shape.
    """
    require_bits(query.n_bits, database.n_bits)
    n_queries, n_bits = query.shape
    if weights.shape not in ((n_bits,), (n_queries, n_bits)):
        raise HashbenchError(f"weights of shape {weights.shape}: [{n_bits}] or [{n_queries}, {n_bits}] is expected")
    if not ((weights >= 0) & np.isfinite(weights)).all():
        raise HashbenchError("weights: some are negative or not finite; each must be 0 or more")
    if weights.ndim == 1:
        whole = [whole_weights(weights)] * n_queries
    else:
        whole = [whole_weights(row) for row in weights]
    n_bytes = -(-n_bits // 8)  # that hold a bit, lowest bit first
    query_bytes = query.bytes()[:, :n_bytes]
    columns = np.ascontiguousarray(database.bytes()[:, :n_bytes].T)

    def distances(rows: slice) -> Array:
        block = np.zeros((len(query_bytes[rows]), len(database)), np.int64)
        for q, (weight, of_query) in enumerate(zip(whole[rows], query_bytes[rows], strict=True)):
            padded = np.zeros((n_bytes, 8), np.int64)
            padded.ravel()[: len(weight)] = weight
            sums = padded @ BITS_OF_BYTE.T  # for each value of a byte of differing bits: 8 weights in one look-up
            for part, column, byte in zip(sums, columns, of_query, strict=True):
                block[q] += part[column ^ byte]
        return block

    return distances


def by_tables(tables: NDArray[np.float64], numbers: NDArray[np.integer]) -> Distances:
    """Distances by look-up tables, float64[q, n]: the sum of the entries of a query that an item's numbers choose.

    ``tables`` are [q, m, k], ``numbers`` [n, m], below k. Items of equal numbers tie exactly, because the entries are
    added in the order of the tables.
    """
    columns = np.ascontiguousarray(numbers.T)

    def distances(rows: slice) -> Array:
        block = np.zeros((len(tables[rows]), len(numbers)))
        for m, chosen in enumerate(columns):
            block += tables[rows, m].take(chosen, axis=1)
        return block

    return distances


@dataclass(frozen=True, eq=False)
class Rankings:
    """The rankings of a database by ``distances``; each iteration computes them block by block."""

    distances: Distances
    relevance: Relevance
    progress: bool = False  # whether each iteration shows a progress bar
    own_rows: Ints | None = None  # the row of each query in the database, which is left out; -1: none

    def __iter__(self) -> Iterator[RankingHistogram]:
        blocks_of_queries = rankings(self.distances, self.relevance, self.own_rows)
        n = self.relevance.shape[0]
        return with_bar(blocks_of_queries, "rank", "query", n, shown=self.progress, size=lambda block: block.n_queries)
