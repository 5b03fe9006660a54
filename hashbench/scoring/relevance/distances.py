"""Relevance by Euclidean distances: the nearer two items are, the higher their level."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices

Features = NDArray[np.floating]
Floats = NDArray[np.float64]
Levels = NDArray[np.uint16]
RowNumbers = NDArray[np.integer[Any]]

PAIRS = 1 << 18  # distances in memory at a time: 2 MiB
ROWS = 1 << 12  # items whose features are in memory at a time
HELD = 1 << 22  # levels in memory at a time: 8 MiB
EPS = float(np.finfo(np.float64).eps)
NOT_FINITE = "features: not finite (NaN or inf); distances cannot be made of them"


class Rows(Protocol):
    """Vectors [n, d] that are read some rows at a time: an array, or an object that computes the rows on demand."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(items, dimensions)."""

    def __getitem__(self, rows: slice | RowNumbers, /) -> NDArray[Any]: ...


@dataclass(frozen=True, eq=False)
class DistanceRelevance:
    """Relevance by the Euclidean distance between features [q, f] of queries and [n, f] of database items.

    A pair has the value of the last of the descending ``thresholds`` ([levels], or [levels, q] of each query) that its
    distance does not exceed, or 0. Thresholds of a query may be equal, such as distances to items that are repeated.
    Distances are computed in float64 from the differences of features.

    >>> near = DistanceRelevance(np.zeros((1, 1)), np.array([[0.5], [2.0], [9.0]]), (3.0, 1.0), (1, 10))
    >>> near.levels[near.block(slice(0, 1), slice(0, 3))]
    array([[10,  1,  0]])
    """

    query_features: Rows
    database_features: Rows
    thresholds: Sequence[float] | Floats
    values: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        require_alike(self.query_features, self.database_features)
        bounds = self._bounds
        levels_rise = all(np.diff((0, *self.values)) > 0)
        steps = np.diff(bounds, axis=0)
        bounds_fall = (steps < 0).all() or (bounds.shape[1] > 1 and (steps <= 0).all())
        are_distances = bool((bounds >= 0).all())
        if not len(bounds) == len(self.values) > 0 or not levels_rise or not bounds_fall or not are_distances:
            expected = "as many of each, distances descending to no less than 0 and levels ascending from 1"
            raise HashbenchError(f"thresholds {self.thresholds} and values {self.values}: {expected}")
        if bounds.shape[1] not in (1, self.shape[0]):
            raise HashbenchError(f"thresholds of {bounds.shape[1]} queries, features of {self.shape[0]}: as many")

    @property
    def levels(self) -> NDArray[np.int64]:
        """0 and the values of the thresholds."""
        return np.array((0, *self.values), np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""
        return self.query_features.shape[0], self.database_features.shape[0]

    def block(self, queries: slice, database: slice) -> Levels:
        """Indices into ``levels``, uint16[q, n]."""
        query = as_float64(self.query_features[queries])
        bounds = _of_queries(self._bounds, queries)
        first, end, _ = database.indices(self.shape[1])
        level = np.empty((len(query), end - first), np.uint16)
        for part in slices(end - first, max(1, min(ROWS, PAIRS // max(1, len(query))))):
            items = self.database_features[first + part.start : first + part.stop]
            level[:, part] = _level(query, as_float64(items), bounds)
        return level

    def pieces(self) -> "Iterator[tuple[slice, KnownRelevance]]":
        """The database piece by piece, each with its relevance to all queries, so that its features are read once."""
        for part in slices(self.shape[1], max(1, min(ROWS, HELD // max(1, self.shape[0])))):
            yield part, KnownRelevance(self.levels, self.block(slice(0, self.shape[0]), part))

    @property
    def _bounds(self) -> Floats:
        """The thresholds, float64[levels, q], or [levels, 1] where they are the same for all queries."""
        bounds = np.asarray(self.thresholds, np.float64)
        if bounds.ndim == 1:
            return bounds[:, None]
        return bounds


@dataclass(frozen=True, eq=False)
class KnownRelevance:
    """Relevance that is computed already: ``level`` uint16[q, n] are indices into ``levels``."""

    levels: NDArray[np.int64]
    level: Levels

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""
        return self.level.shape[0], self.level.shape[1]

    def block(self, queries: slice, database: slice) -> Levels:
        """Indices into ``levels``, uint16[q, n]."""
        return self.level[queries, database]


def _level(query: Floats, items: Floats, bounds: Floats) -> Levels:
    """The levels of all pairs, by a matrix product; from the differences where its rounding could change a level."""
    squared = squared_distances(query, items)
    wrong_by = rounding(query.shape[1], squared_norms(query)[:, None], squared_norms(items))
    level = np.zeros(squared.shape, np.uint16)
    doubtful = np.zeros(squared.shape, bool)
    for bound in bounds[:, :, None] ** 2:
        level += squared <= bound
        doubtful |= np.abs(squared - bound) <= wrong_by + 4 * EPS * bound
    for rows, columns, distance in exact_distances(query, items, doubtful):
        level[rows, columns] = (distance <= _of_queries(bounds, rows)).sum(axis=0)
    return level


def _of_queries(bounds: Floats, queries: slice | NDArray[np.int64]) -> Floats:
    """The thresholds of some queries, [levels, q]; [levels, 1] where they are the same for all."""
    if bounds.shape[1] == 1:
        return bounds
    return bounds[:, queries]


def squared_distances(query: Floats, items: Floats) -> Floats:
    """The squared distances of all pairs, float64[q, n], by a matrix product, with errors of at most ``rounding``."""
    query_norms = squared_norms(query)
    item_norms = squared_norms(items)
    if not (np.isfinite(query_norms).all() and np.isfinite(item_norms).all()):
        raise HashbenchError(NOT_FINITE)
    squared = query @ items.T
    squared *= -2
    squared += query_norms[:, None]
    squared += item_norms
    return squared


def squared_norms(features: Floats) -> Floats:
    """The squared Euclidean norm of each row, float64[n]."""
    return np.einsum("nf,nf->n", features, features)


def rounding(dimensions: int, query_norms: Floats, item_norms: Floats) -> Floats:
    """The largest rounding error of ``squared_distances``, for items with those squared norms."""
    return 4 * (dimensions + 4) * EPS * (query_norms + item_norms)


def exact_distances(
    query: Floats, items: Floats, chosen: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]:
    """(rows, columns, distances) of the pairs that are ``chosen``, bool[q, n]; some pairs at a time."""
    rows, columns = np.nonzero(chosen)
    for part in slices(len(rows), max(1, PAIRS * 8 // max(1, query.shape[1]))):
        yield rows[part], columns[part], euclidean(query[rows[part]], items[columns[part]])


def euclidean(one: Features, other: Features) -> Floats:
    """The Euclidean distance of each pair of rows, float64[n], computed in float64 from the differences."""
    return np.sqrt(((as_float64(one) - as_float64(other)) ** 2).sum(axis=-1))


def as_float64(features: Features) -> Floats:
    """The features in float64, copied only where they have another type."""
    return features.astype(np.float64, copy=False)


def require_alike(query: Rows, database: Rows) -> None:
    """Raises HashbenchError unless both are finite, items x dimensions, with the same number of dimensions."""
    if len(query.shape) != 2 or len(database.shape) != 2 or query.shape[1] != database.shape[1]:
        raise HashbenchError(f"features of shapes {query.shape} and {database.shape}: items x dimensions, alike")
    for features in (query, database):
        if not all(np.isfinite(features[rows]).all() for rows in slices(features.shape[0], ROWS)):
            raise HashbenchError(NOT_FINITE)
