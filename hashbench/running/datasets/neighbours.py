"""The exact nearest neighbours of vectors: computed once, in blocks, and stored beside the data set.

A product of matrices in float32 finds candidates, and the distances of these are computed in float64 from the vectors.
The rounding of the product is bounded, so it is known for each query whether an item outside its candidates could be
among the nearest; if one could, the query gets more candidates. The result is that of float64 alone: the k items of
the smallest distances, and among equal distances those that come first.
"""

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hashbench.foundation import paths
from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.config import digest
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import locked, require_writable
from hashbench.foundation.lazy import Lazy
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import bar
from hashbench.running.datasets.protocol import Metric, Neighbours
from hashbench.running.datasets.split import Split, canonical_bytes
from hashbench.running.datasets.store import Dataset
from hashbench.scoring.relevance.distances import RowNumbers, Rows

loops = Lazy("hashbench.running.datasets._nearest_numba")

FOLDER = "neighbours"  # of a data set
DEPTH = 100  # neighbours of a query that are stored, or as many as a rule asks for
MARGIN = 27  # candidates beyond those that are asked for
MORE = 8  # times as many for the queries whose candidates are too few
TILE_QUERIES = 256  # of one product
TILE_ITEMS = 2048
HELD = 1 << 24  # values in memory at a time, with their ids: 128 MiB
EXACT_VALUES = 1 << 18  # of vectors that one thread compares at a time: 1 MiB in float32
UNIT_ROUNDOFF = 2.0**-24  # of float32
SMALLEST = 1e-37  # norm: float32 holds its inverse
LARGEST = 1e18  # norm: float32 holds products of two

Floats = NDArray[np.float64]
Ids = RowNumbers


@dataclass(frozen=True, eq=False)
class StoredRows:
    """The rows ``ids`` of stored items [n, ...], each flat."""

    items: NDArray[Any]
    ids: Ids

    @property
    def shape(self) -> tuple[int, int]:
        """(items, dimensions)."""
        return len(self.ids), int(np.prod(self.items.shape[1:]))

    def __getitem__(self, rows: slice | Ids) -> NDArray[Any]:
        """The vectors of those rows, [rows, d]."""
        items = self.items[self.ids[rows]]
        return items.reshape(len(items), -1)


@dataclass(frozen=True, eq=False)
class StoredNeighbours:
    """The nearest items of each query, in ascending order of the distance.

    ``ids`` int32[q, depth] are positions in the ``database_ids`` of the split, ``distances`` float32[q, depth] as
    :func:`nearest` has them. ``beyond`` float32[q] is the distance of the next nearest item: infinite if there is none.
    """

    ids: NDArray[np.int32]
    distances: NDArray[np.float32]
    beyond: NDArray[np.float32]

    def n_tied_at(self, k: int) -> int:
        """The number of queries with an item outside the first ``k`` at the float32 distance of the ``k``-th."""
        distances = np.column_stack([self.distances, self.beyond])
        return int((distances[:, k - 1] == distances[:, k]).sum())

    def warnings(self, k: int) -> list[str]:
        """Warnings for a reader of results by the ``k`` nearest, a line each."""
        n_tied = self.n_tied_at(k)
        if not n_tied:
            return []
        return [f"{n_tied:,} of {len(self.ids):,} queries have another item as near as number {k}: the first counts"]


def nearest(
    queries: Rows, database: Rows, k: int, metric: Metric, *, progress: bool = False
) -> tuple[NDArray[np.int32], Floats]:
    """(ids int32[q, k] of rows of the database, distances float64[q, k]) of the ``k`` nearest, the nearest first.

    The distance is the Euclidean one (``l2``), 1 - cosine (``cosine``), or minus the inner product (``ip``). Exact:
    the order is that of the distances in float64, and by row where two are equal.
    Raises HashbenchError for vectors of different widths or not finite, for a ``k`` that the database does not have,
    and for a cosine of a zero vector.

    >>> nearest(np.array([[0.0], [5.0]]), np.array([[1.0], [2.0], [7.0]]), 2, "l2")[0].tolist()
    [[0, 1], [2, 1]]
    """
    if len(queries.shape) != 2 or len(database.shape) != 2 or queries.shape[1] != database.shape[1]:
        raise HashbenchError(f"vectors of shapes {queries.shape} and {database.shape}: [n, d], of one width")
    n_queries = queries.shape[0]
    n_items = database.shape[0]
    if not 1 <= k <= n_items:
        raise HashbenchError(f"k = {k:,} neighbours: the database has {n_items:,} items")
    ids = np.empty((n_queries, k), np.int32)
    distances = np.empty((n_queries, k))
    open_rows = np.arange(n_queries)
    n_candidates = k + MARGIN
    with bar("neighbours", "pair", n_queries * n_items, shown=progress, scaled=True) as done:
        while open_rows.size:
            n_candidates = min(n_items, n_candidates)
            certain = []
            for part in slices(len(open_rows), max(1, HELD // _room(n_candidates))):
                rows = open_rows[part]
                candidates = _Candidates(queries[rows], database, n_candidates, metric)
                for n_pairs in candidates.search():
                    done.update(n_pairs)
                ids[rows], distances[rows] = candidates.nearest(k)
                certain.append(candidates.are_certain(distances[rows, k - 1]))
            open_rows = open_rows[~np.concatenate(certain)]
            n_candidates *= MORE
    return ids, distances


def stored_neighbours(data: Dataset, chosen: Split, rule: Neighbours, *, progress: bool = False) -> StoredNeighbours:
    """The nearest items of the split's database to its queries: read, or computed once and stored.

    ``data.items`` are what is compared: with ``rule.features`` these, and else the stored items.
    """
    n_database = len(chosen.database_ids)
    if rule.k > n_database:
        raise HashbenchError(f"{data.name}: k = {rule.k:,} neighbours: the database has {n_database:,} items")
    path = path_of(data, chosen, rule)
    if (stored := _read(path)) is not None:
        return stored
    require_writable(path.parent, instead="--data")
    busy = f"{path}: another process computes it: waiting"
    lock = path.with_suffix(".lock")
    try:
        with locked(lock, wait=True, busy=busy, instead="--data"):
            if (stored := _read(path)) is not None:  # by the process that held the lock
                return stored
            queries = StoredRows(data.items, chosen.query_ids)
            database = StoredRows(data.items, chosen.database_ids)
            stored = _computed(queries, database, rule, progress=progress)
            write_arrays(path, asdict(stored), "plain")
            return stored
    finally:
        lock.unlink(missing_ok=True)


def depth_of(rule: Neighbours, n_database: int) -> int:
    """The number of neighbours of a query that are stored."""
    return min(n_database, max(DEPTH, rule.k))


def path_of(data: Dataset, chosen: Split, rule: Neighbours) -> Path:
    """The file of the neighbours, named by all that decides them."""
    deciding = {
        "items": data.sha256,
        "features": rule.features,
        "metric": rule.metric,
        "depth": depth_of(rule, len(chosen.database_ids)),
        "query": hashlib.sha256(canonical_bytes(chosen.query_ids)).hexdigest(),
        "database": hashlib.sha256(canonical_bytes(chosen.database_ids)).hexdigest(),
    }
    return paths.data() / data.name / FOLDER / f"{digest(deciding)[:16]}.npz"


def _read(path: Path) -> StoredNeighbours | None:
    """The stored neighbours; None if they are missing or damaged, since they can be computed again."""
    with suppress(Exception), np.load(path, allow_pickle=False) as file:
        return StoredNeighbours(file["ids"], file["distances"], file["beyond"])
    return None


def _computed(queries: Rows, database: Rows, rule: Neighbours, *, progress: bool) -> StoredNeighbours:
    """The nearest items of each query, as many as are stored, and the distance of the next."""
    n_items = database.shape[0]
    depth = depth_of(rule, n_items)
    ids, distances = nearest(queries, database, min(depth + 1, n_items), rule.metric, progress=progress)
    beyond = np.full(len(ids), np.inf, np.float32)
    if n_items > depth:
        beyond = distances[:, depth].astype(np.float32)
    return StoredNeighbours(ids[:, :depth], distances[:, :depth].astype(np.float32), beyond)


class _Candidates:
    """The items of the smallest values of each query: half the squared distance less a constant, or minus the product.

    Both sides are moved by the same vector, near which the items are, so that the rounding is small (``l2`` only).
    Values below ``bound`` are added behind the kept ones, and the ``n`` smallest stay when there are twice as many.
    """

    def __init__(self, queries: NDArray[Any], database: Rows, n: int, metric: Metric) -> None:
        self.vectors = queries
        self.database = database
        self.metric = metric
        self.n = n
        first = database[slice(0, min(TILE_ITEMS, database.shape[0]))]
        self.centre = None
        if metric == "l2":
            self.centre = first.mean(axis=0, dtype=np.float64).astype(np.float32)
        self.queries, self.query_norms = self._prepared(queries)
        if metric == "l2":  # 1 after the change of sign: it meets half the squared norm at the end of an item
            self.queries[:, -1] = -1
        self.queries *= -1
        self.largest = 0.0  # norm of an item
        self.values = np.full((len(queries), _room(n)), np.inf, np.float32)
        self.ids = np.full(self.values.shape, -1, np.int32)
        self.n_kept = np.zeros(len(queries), np.int64)
        self.bound = np.full(len(queries), np.inf, np.float32)

    def search(self) -> Iterator[int]:
        """Reads the database once; yields the number of pairs that each step compared.

        Each core has some queries, and a product on one thread.
        """
        n_queries = len(self.queries)
        tiles = list(slices(n_queries, TILE_QUERIES))
        products = np.empty((n_queries, TILE_ITEMS), np.float32)

        def compare(items: NDArray[np.float32], first_id: int, rows: slice) -> None:
            np.matmul(self.queries[rows], items.T, out=products[rows, : len(items)])
            if self.n_kept[rows].max() > 2 * self.n:
                self._drop(rows)
            loops.add_below(
                products[rows], len(items), first_id, self.bound[rows], self.values[rows], self.ids[rows],
                self.n_kept[rows],
            )  # fmt: skip

        with threadpool_limits(1, "blas"), ThreadPoolExecutor(available_cores()) as pool:
            for part in slices(self.database.shape[0], TILE_ITEMS):
                items = self._items(part)
                list(pool.map(partial(compare, items, part.start), tiles))
                yield n_queries * len(items)
            list(pool.map(self._drop, tiles))

    def _items(self, part: slice) -> NDArray[np.float32]:
        """Prepares some items for the product."""
        items, norms = self._prepared(self.database[part])
        self.largest = max(self.largest, float(norms.max()))
        if self.metric == "l2":
            items[:, -1] = norms**2 / 2
        return items

    def nearest(self, k: int) -> tuple[NDArray[np.int32], Floats]:
        """(ids, exact distances) [q, k] of the nearest candidates after the search; of equal distances the first."""
        candidates = self.ids[:, : self.n]
        exact = _exact(self.vectors, self.database, candidates, self.metric)
        order = np.lexsort((candidates, exact), axis=1)[:, :k]
        return np.take_along_axis(candidates, order, axis=1), np.take_along_axis(exact, order, axis=1)

    def are_certain(self, kth: Floats) -> NDArray[np.bool_]:
        """True where no item outside the candidates can be as near as the distance ``kth`` [q], bool[q]."""
        if self.n == self.database.shape[0]:
            return np.ones(len(kth), np.bool_)
        norms = self.query_norms
        largest = self.largest
        value = {"l2": (kth**2 - norms**2) / 2, "cosine": kth - 1, "ip": kth}[self.metric]
        scale = {"l2": norms * largest + largest**2 / 2, "cosine": np.ones(1), "ip": norms * largest}[self.metric]
        # a sum in any order, and vectors in float32; below the smallest normal number there is no relative error
        wrong_by = (self.queries.shape[1] + 8) * (UNIT_ROUNDOFF * scale + np.finfo(np.float32).tiny)
        return self.bound - wrong_by > value

    def _prepared(self, vectors: NDArray[Any]) -> tuple[NDArray[np.float32], Floats]:
        """The vectors in float32, scaled or moved, with one more column if moved; and their norms before a scaling."""
        if self.centre is None:
            prepared = values = vectors.astype(np.float32)
        else:
            prepared = np.empty((len(vectors), vectors.shape[1] + 1), np.float32)
            values = np.subtract(vectors, self.centre, out=prepared[:, :-1], casting="same_kind")
        norms = np.sqrt(np.einsum("nd,nd->n", values, values, dtype=np.float64))
        if not (norms < LARGEST).all():
            raise HashbenchError(f"vectors: not finite (NaN or inf), or of a norm above {LARGEST:g}: no distances")
        if self.metric == "cosine":
            if (norms < SMALLEST).any():
                raise HashbenchError("a vector of norm 0 has no cosine: take it out, or the metric l2")
            values /= norms.astype(np.float32)[:, None]
        return prepared, norms

    def _drop(self, rows: slice) -> None:
        """Keeps the ``n`` smallest values of each query, the largest of which is its bound."""
        n = self.n
        filled = int(self.n_kept[rows].max())
        if filled <= n:
            return
        values = self.values[rows]
        ids = self.ids[rows]
        order = np.argpartition(values[:, :filled], n - 1, axis=1)[:, :n]
        values[:, :n] = np.take_along_axis(values, order, axis=1)
        ids[:, :n] = np.take_along_axis(ids, order, axis=1)
        values[:, n:filled] = np.inf
        self.n_kept[rows] = np.minimum(self.n_kept[rows], n)
        self.bound[rows] = values[:, n - 1]


def _room(n: int) -> int:
    """The number of values of a query in memory where ``n`` are wanted: twice as many, and those of a tile."""
    return 2 * n + TILE_ITEMS


def _exact(queries: Rows, database: Rows, ids: Ids, metric: Metric) -> Floats:
    """The distances of the queries to the items ``ids`` [q, n], float64[q, n], computed in float64 from the vectors."""
    distances = np.empty(ids.shape)

    def compute(part: tuple[slice, slice]) -> None:
        rows, columns = part
        chosen = ids[rows, columns]
        items = database[chosen.ravel()].reshape(*chosen.shape, -1)
        distances[part] = _exact_block(queries[rows].astype(np.float64), items, metric)

    n_queries, n = ids.shape
    width = max(1, EXACT_VALUES // queries.shape[1])  # pairs at a time
    parts = product(slices(n_queries, max(1, width // n)), slices(n, width))
    with ThreadPoolExecutor(available_cores()) as pool:
        list(pool.map(compute, parts))
    return distances


def _exact_block(queries: Floats, items: NDArray[Any], metric: Metric) -> Floats:
    """The distances of each of the ``queries`` [q, d] to its own ``items`` [q, n, d], float64[q, n]."""
    dtype = np.float32 if items.dtype == np.float32 else np.float64
    items = np.ascontiguousarray(items, dtype)
    values = np.empty(items.shape[:2])
    if metric == "ip":
        loops.exact_distances(items, queries, False, True, values)
        return -values
    if metric == "l2":
        loops.exact_distances(items, queries, False, False, values)
        return np.sqrt(values)
    loops.exact_distances(items, queries / np.linalg.norm(queries, axis=1, keepdims=True), True, False, values)
    return 0.5 * values
