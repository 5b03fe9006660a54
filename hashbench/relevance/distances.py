"""Relevance from Euclidean distances: the nearer two items lie, the higher their level."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError
from hashbench.parallel import slices

Features = NDArray[np.floating]
Floats = NDArray[np.float64]

PAIRS = 1 << 18  # distances held together, 2 MiB
ROWS = 1 << 12  # items whose features are held together
HELD = 1 << 22  # levels held together, 8 MiB
EPS = float(np.finfo(np.float64).eps)


class Rows(Protocol):
    """Features [n, f], asked for some rows at a time: an array, or what makes them when they are asked for."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(items, dimensions)."""
        ...

    def __getitem__(self, rows: slice, /) -> Features:
        """The features of those items, float[rows, f]."""
        ...


@dataclass(frozen=True, eq=False)
class DistanceRelevance:
    """Levels from the Euclidean distance between features [q, f] and [n, f].

    ``thresholds`` descend and ``values`` ascend: a pair has ``values[i]`` where its distance is at most
    ``thresholds[i]`` and not at most a later one, and level 0 beyond the first. Thresholds are of all queries, float
    [levels], or of each its own, float64[levels, q]. Levels are those of the distance in float64, summed over the
    differences; LabelMe's are 1, 2, 5 and 10 at the 5th, 1st, 0.2nd and 0.1st percentile.

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
        bounds, rises = self._bounds, all(np.diff((0, *self.values)) > 0)
        falls = bool((np.diff(bounds, axis=0) < 0).all() and (bounds[-1:] >= 0).all())
        if not len(bounds) == len(self.values) > 0 or not falls or not rises:
            raise HashbenchError(
                f"thresholds {self.thresholds} and values {self.values}: as many of each, distances descending to no "
                "less than 0 and levels ascending from 1"
            )
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

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n]."""
        query = as_float64(self.query_features[queries])
        bounds = self._bounds if self._bounds.shape[1] == 1 else self._bounds[:, queries]
        first, end, _ = database.indices(self.shape[1])
        level = np.empty((len(query), end - first), np.uint16)
        step = max(1, min(ROWS, PAIRS // max(1, len(query))))
        for start in range(first, end, step):
            items = as_float64(self.database_features[start : min(start + step, end)])
            level[:, start - first : start - first + len(items)] = _level(query, items, bounds)
        return level

    def pieces(self) -> "Iterator[tuple[slice, KnownRelevance]]":
        """The database piece by piece, with the levels of all queries to it: its features are made once each.

        To be counted by ``hashbench.histogram.count_blocks``. ``block`` makes them anew for every few queries.
        """
        step = max(1, min(ROWS, HELD // max(1, self.shape[0])))
        for part in slices(self.shape[1], step):
            yield part, KnownRelevance(self.levels, self.block(slice(0, self.shape[0]), part))

    @property
    def _bounds(self) -> Floats:
        """The thresholds, float64[levels, q], or [levels, 1] where they are of all queries."""
        bounds = np.asarray(self.thresholds, np.float64)
        return bounds.reshape(len(bounds), -1) if bounds.size else np.empty((0, 1))


@dataclass(frozen=True, eq=False)
class KnownRelevance:
    """Levels that are known: ``level`` uint16[q, n] are indices into ``levels``. For some items, never for all."""

    levels: NDArray[np.int64]
    level: NDArray[np.uint16]

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""
        return self.level.shape[0], self.level.shape[1]

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n]."""
        return self.level[queries, database]


def _level(query: Floats, items: Floats, bounds: Floats) -> NDArray[np.uint16]:
    """The levels of all pairs: by a matrix product, and once more by hand where its rounding could matter."""
    squared = squared_distances(query, items)
    wrong_by = rounding(query.shape[1], squared_norms(query)[:, None], squared_norms(items))
    level = np.zeros(squared.shape, np.uint16)
    doubtful = np.zeros(squared.shape, bool)
    for bound in bounds[:, :, None] ** 2:
        level += squared <= bound
        doubtful |= np.abs(squared - bound) <= wrong_by + 4 * EPS * bound
    for rows, columns, distance in exact_distances(query, items, doubtful):
        own = bounds[:, rows] if bounds.shape[1] > 1 else bounds
        level[rows, columns] = (distance <= own).sum(axis=0)
    return level


def squared_distances(query: Floats, items: Floats) -> Floats:
    """The squared distances of all pairs, float64[q, n], by a matrix product: each is as near as ``rounding`` says.

    Raises HashbenchError for features that are not finite.
    """
    norms = squared_norms(query), squared_norms(items)
    if not all(np.isfinite(each).all() for each in norms):
        raise HashbenchError("features: not finite (NaN or inf); distances cannot be made of them")
    squared = query @ items.T
    squared *= -2
    squared += norms[0][:, None]
    squared += norms[1]
    return squared


def squared_norms(features: Floats) -> Floats:
    """float64[n]."""
    return np.einsum("nf,nf->n", features, features)


def rounding(dimensions: int, query_norms: Floats, item_norms: Floats) -> Floats:
    """How far rounding may take the squared distance of two items with those squared norms."""
    return 4 * (dimensions + 4) * EPS * (query_norms + item_norms)


def exact_distances(
    query: Floats, items: Floats, chosen: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]:
    """(rows, columns, distances) of the ``chosen`` pairs bool[q, n], some at a time."""
    rows, columns = np.nonzero(chosen)
    step = max(1, PAIRS * 8 // max(1, query.shape[1]))
    for part in slices(len(rows), step):
        pairs = rows[part], columns[part]
        yield *pairs, euclidean(query[pairs[0]], items[pairs[1]])


def euclidean(one: Features, other: Features) -> Floats:
    """The Euclidean distances between rows, float64[n], in float64 from the differences."""
    return np.sqrt(((as_float64(one) - as_float64(other)) ** 2).sum(axis=-1))


def as_float64(features: Features) -> Floats:
    """The same in float64, a copy only where they are not."""
    return features.astype(np.float64, copy=False)


def require_alike(query: Rows, database: Rows) -> None:
    """Raises HashbenchError unless both are finite items x dimensions, of as many dimensions."""
    if len(query.shape) != 2 or len(database.shape) != 2 or query.shape[1] != database.shape[1]:
        raise HashbenchError(f"features of shapes {query.shape} and {database.shape}: items x dimensions, alike")
    for features in (query, database):
        for rows in slices(features.shape[0], ROWS):
            if not np.isfinite(features[rows]).all():
                raise HashbenchError("features: not finite (NaN or inf); distances cannot be made of them")
