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
from dataclasses import dataclass
from functools import partial
from itertools import product, zip_longest
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
from hashbench.scoring.relevance.neighbours import checked_ids

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
SAMPLE = 1000  # items that tell the median distance
CHECKED = 100  # queries whose neighbours in a file are compared with those that are computed; drawn
TOLERANCE = 1e-3  # of distances in files, relative, as ann-benchmarks has it
NOISE = 0.85  # above it the k-th nearest is about as far as any item

Floats = NDArray[np.float64]
Ids = RowNumbers


@dataclass(frozen=True, eq=False)
class StoredRows:
    """The rows ``ids`` of stored items [n, ...], each flat; a run of ids is read without a copy."""

    items: NDArray[Any]
    ids: Ids

    @property
    def shape(self) -> tuple[int, int]:
        """(items, dimensions)."""
        return len(self.ids), int(np.prod(self.items.shape[1:]))

    def __getitem__(self, rows: slice | Ids) -> NDArray[Any]:
        """The vectors of those rows, [rows, d]."""
        ids = self.ids[rows]
        if isinstance(rows, slice) and len(ids) > 0 and ids[-1] - ids[0] == len(ids) - 1:
            items = self.items[ids[0] : ids[-1] + 1]
        else:
            items = self.items[ids]
        return items.reshape(len(ids), -1)


@dataclass(frozen=True, eq=False)
class StoredNeighbours:
    """The nearest items of each query, in ascending order of the distance.

    ``ids`` int32[q, depth] are positions in the ``database_ids`` of the split, ``distances`` float32[q, depth] as
    :func:`nearest` has them. ``beyond`` float32[q] is the distance of the next nearest item: infinite if there is none,
    NaN if the neighbours come from a file that does not say. ``median`` float32[q] is that of a sample of the database,
    NaN if this has fewer than 1,000 items.
    """

    ids: NDArray[np.int32]
    distances: NDArray[np.float32]
    beyond: NDArray[np.float32]
    median: NDArray[np.float32]
    metric: Metric

    def n_tied_at(self, k: int) -> int:
        """The number of queries with an item outside the first ``k`` at the float32 distance of the ``k``-th."""
        distances = np.column_stack([self.distances, self.beyond])
        return int((distances[:, k - 1] == distances[:, k]).sum())

    def contrast(self, k: int) -> float:
        """The Euclidean distance of the ``k``-th nearest as a share of the median one; the median over queries.

        NaN for inner products, which are no distances, and where the median distance is 0 or not known.
        """
        if self.metric == "ip":
            return float("nan")
        kth = self.distances[:, k - 1]
        median = self.median
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = kth / median
        if self.metric == "cosine":  # half the squared distance of unit vectors
            shares = np.sqrt(shares)
        return float(np.median(shares))

    def warnings(self, k: int) -> list[str]:
        """Warnings for a reader of results by the ``k`` nearest, a line each."""
        lines = []
        n_queries = len(self.ids)
        if n_tied := self.n_tied_at(k):
            lines.append(
                f"{n_tied:,} of {n_queries:,} queries have another item as near as number {k}: the first counts"
            )
        if (contrast := self.contrast(k)) > NOISE:
            alike = f"the item number {k} by distance is {contrast:.2f} times as far as the median item"
            lines.append(f"{alike}: such vectors are like noise, and recall on them says little of others")
        return lines


def nearest(
    queries: Rows, database: Rows, k: int, metric: Metric, *, progress: bool = False
) -> tuple[NDArray[np.int32], Floats]:
    """(ids int32[q, k] of rows of the database, distances float64[q, k]) of the ``k`` nearest, the nearest first.

    The distance is the Euclidean one (``l2``), 1 - cosine (``cosine``), or minus the inner product (``ip``). Exact:
    the order is that of the distances in float64, and by row where two are equal. Vectors of whole numbers, and those
    of 0 and one size of number, tie by cosine where their exact cosines are equal; of others rounding may part a tie.
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
    if (stored := _read(path, rule.metric)) is not None:
        return stored
    require_writable(path.parent, instead="--data")
    busy = f"{path}: another process computes it: waiting"
    lock = path.with_suffix(".lock")
    try:
        with locked(lock, wait=True, busy=busy, instead="--data"):
            if (stored := _read(path, rule.metric)) is not None:  # by the process that held the lock
                return stored
            queries = StoredRows(data.items, chosen.query_ids)
            database = StoredRows(data.items, chosen.database_ids)
            stored = computed(queries, database, rule, progress=progress)
            write(path, stored)
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


def write(path: Path, nearest: StoredNeighbours) -> None:
    """Writes the neighbours to the .npz ``path``, whole or not at all."""
    arrays = {
        "ids": nearest.ids,
        "distances": nearest.distances,
        "beyond": nearest.beyond,
        "median": nearest.median,
    }
    write_arrays(path, arrays, "plain")


def verified_neighbours(where: str, ids: Ids, queries: Rows, database: Rows, metric: Metric) -> StoredNeighbours:
    """The neighbours that came with the vectors, from the file ``where``, as ``ids`` [q, k] of rows of the database.

    Raises HashbenchError for ids that the database does not have or that are there twice, and where the distances of
    some queries' neighbours are not those of the nearest items.
    """
    ids = checked_ids(where, ids, queries.shape[0], database.shape[0], complete=True)
    distances = _exact(queries, database, ids, metric)
    _require_nearest(where, distances, queries, database, metric)
    order = np.argsort(distances, axis=1, kind="stable")
    ids = np.take_along_axis(ids, order, axis=1)
    distances = np.take_along_axis(distances, order, axis=1)
    beyond = np.nan
    if ids.shape[1] == database.shape[0]:
        beyond = np.inf
    return _stored(ids, distances, beyond, DEPTH, queries, database, metric)


def _require_nearest(where: str, distances: Floats, queries: Rows, database: Rows, metric: Metric) -> None:
    """Raises HashbenchError where the ``distances`` of a sample of the queries are not those of the nearest items."""
    n_queries = queries.shape[0]
    sample = np.sort(np.random.default_rng(0).choice(n_queries, min(CHECKED, n_queries), replace=False))
    _, due = nearest(queries[sample], database, distances.shape[1], metric)
    stated = np.sort(distances[sample], axis=1)
    # an error is accepted that is a share of the distance, or of the mean distance if that is more
    is_wrong = stated > due + TOLERANCE * np.maximum(np.abs(due), np.abs(due).mean())
    if is_wrong.any():
        row, rank = np.argwhere(is_wrong)[0]
        fault = f"its neighbour number {rank + 1} has the {metric} distance {stated[row, rank]:.4g}"
        expected = f"the nearest item of this rank {due[row, rank]:.4g}: neighbours of these vectors are expected"
        raise HashbenchError(f"{where}: query {sample[row]}: {fault}, and {expected}")


def _read(path: Path, metric: Metric) -> StoredNeighbours | None:
    """The stored neighbours; None if they are missing or damaged, since they can be computed again."""
    with suppress(Exception), np.load(path, allow_pickle=False) as file:
        return StoredNeighbours(file["ids"], file["distances"], file["beyond"], file["median"], metric)
    return None


def computed(queries: Rows, database: Rows, rule: Neighbours, *, progress: bool) -> StoredNeighbours:
    """The nearest items of each query, as many as are stored, and the distance of the next."""
    n_items = database.shape[0]
    depth = depth_of(rule, n_items)
    ids, distances = nearest(queries, database, min(depth + 1, n_items), rule.metric, progress=progress)
    return _stored(ids, distances, np.inf, depth, queries, database, rule.metric)


def _stored(
    ids: Ids, distances: Floats, beyond: float, depth: int, queries: Rows, database: Rows, metric: Metric
) -> StoredNeighbours:
    """The first ``depth`` neighbours; the next one is ``beyond`` away where it is not among ``distances`` [q, k]."""
    further = np.column_stack([distances, np.full(len(distances), beyond)])
    return StoredNeighbours(
        ids=ids[:, :depth].astype(np.int32),
        distances=distances[:, :depth].astype(np.float32),
        beyond=further[:, min(depth, distances.shape[1])].astype(np.float32),
        median=_median(queries, database, metric),
        metric=metric,
    )


def _median(queries: Rows, database: Rows, metric: Metric) -> NDArray[np.float32]:
    """The median distance of each query to a sample of the database, float32[q]; NaN where it is too small for one."""
    if database.shape[0] < SAMPLE:
        return np.full(queries.shape[0], np.nan, np.float32)
    sample = np.unique(np.linspace(0, database.shape[0] - 1, SAMPLE).astype(np.int64))
    items = database[sample]
    everyone = np.arange(len(sample))[None]
    medians = []
    for rows in slices(queries.shape[0], TILE_QUERIES):
        block = queries[rows]
        distances = _exact(block, items, np.repeat(everyone, len(block), axis=0), metric)
        medians.append(np.median(distances, axis=1))
    return np.concatenate(medians).astype(np.float32)


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

        Each core has some queries, and a product on one thread; the next items are read meanwhile.
        """
        n_queries = len(self.queries)
        tiles = list(slices(n_queries, TILE_QUERIES))
        parts = list(slices(self.database.shape[0], TILE_ITEMS))
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
            ready = pool.submit(self._items, parts[0])
            for part, following in zip_longest(parts, parts[1:]):
                items = ready.result()
                if following is not None:
                    ready = pool.submit(self._items, following)
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
    whole_queries = _whole(queries)
    if whole_queries is not None and (whole_items := _whole(items)) is not None:
        loops.exact_distances(whole_items, whole_queries, False, True, values)
        # a squared cosine is a fraction of whole numbers, and equal fractions have equal quotients in float64: items of
        # equal cosines have equal distances, as long as the squares of the products are below 2^53
        squared_norms_of_queries = np.einsum("qd,qd->q", whole_queries, whole_queries)[:, None]
        squared_norms_of_items = np.einsum("qnd,qnd->qn", whole_items, whole_items)
        squared_cosines = values**2 / squared_norms_of_items / squared_norms_of_queries
        return np.asarray(1 - np.sign(values) * np.sqrt(squared_cosines))
    loops.exact_distances(items, queries / np.linalg.norm(queries, axis=1, keepdims=True), True, False, values)
    return 0.5 * values


def _whole(vectors: NDArray[Any]) -> Floats | None:
    """Vectors of whole numbers, float64[..., d], with exactly the directions of ``vectors``; None if these are others.

    Those are the vectors themselves, or the signs of vectors whose values are 0 or of one size, such as 0 and 1 that
    were scaled to norm 1.
    """
    values = vectors.astype(np.float64)
    if (values == np.rint(values)).all():
        return values
    sizes = np.abs(values)
    is_of_one_size = (sizes == 0) | (sizes == sizes.max(axis=-1, keepdims=True))
    if not is_of_one_size.all():
        return None
    return np.sign(values)
