"""Distances by rank, exact and in blocks: percentiles over all pairs of a set, and the k-th nearest of each query.

Both read all pairs twice. The first pass, by matrix products, finds an interval that holds the distance of the wanted
rank. The second counts the pairs below the interval and computes the distances inside it from the differences.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.scoring.relevance import distances as by_distance
from hashbench.scoring.relevance.distances import Floats, Rows, as_float64

Ints = NDArray[np.int64]

TILE = 1 << 10  # items on either side of a block of pairs: 8 MiB of distances
HELD = 1 << 24  # distances of queries in memory at a time: 128 MiB
BINS = 1 << 20  # of the first pass: 4096 for each doubling of the squared distance
DROPPED = np.uint32(11)  # bits of a float32 that do not decide its bin


def percentiles(features: Rows, percents: Sequence[float]) -> tuple[float, ...]:
    """The percentiles of the distances between all pairs of rows of ``features`` [n, f]: thresholds of a relevance.

    The i-th smallest of m distances is the percentile 100 (i - 1/2) / m; between them it is interpolated linearly, as
    by MATLAB's prctile, which gave the field its thresholds, and by NumPy's method ``hazen``. Exact in float64.

    >>> percentiles(np.array([[0.0], [1.0], [3.0]]), [50])
    (2.0,)
    """
    n = features.shape[0]
    m = n * (n - 1) // 2
    if not m:
        raise HashbenchError(f"percentiles: {n} rows have no pair; at least 2 are needed")
    by_distance.require_alike(features, features)
    position = np.clip(np.asarray(percents, np.float64) / 100 * m + 0.5, 1, m)
    lower = position.astype(np.int64)
    ranks = np.concatenate([lower, np.minimum(lower + 1, m)])
    low, high = _pair_intervals(features, ranks)
    intervals = _Intervals(len(ranks))
    for query, items, squared in _pairs(features):
        for interval in range(len(ranks)):
            intervals.add(query, items, squared, low[interval], high[interval], interval)
    below, above = intervals.at(ranks).reshape(2, -1)
    return tuple((below + (above - below) * (position - lower)).tolist())


def nearest(query: Rows, database: Rows, k: int) -> Floats:
    """The distance of each query's ``k``-th nearest item, float64[q]; exact in float64.

    As a threshold it admits k items of a query, and more where several are at the k-th distance.

    >>> nearest(np.array([[0.0], [5.0]]), np.array([[1.0], [2.0], [7.0]]), 2)
    array([2., 3.])
    """
    by_distance.require_alike(query, database)
    if not 1 <= k <= database.shape[0]:
        raise HashbenchError(f"nearest: rank {k} of {database.shape[0]} items: 1 to {database.shape[0]} exist")
    step = min(TILE, max(1, HELD // _width(k)))
    return np.concatenate([_nearest(as_float64(query[rows]), database, k) for rows in slices(query.shape[0], step)])


class _Intervals:
    """For each interval: the number of pairs below it, and the exact distances inside it, each kept once."""

    def __init__(self, n_intervals: int) -> None:
        self.n_below = np.zeros(n_intervals, np.int64)
        self.interval = np.empty(0, np.int64)
        self.distance = np.empty(0)
        self.n_equal = np.empty(0, np.int64)

    def add(
        self, query: Floats, items: Floats, squared: Floats, low: Floats, high: Floats, interval: int | None = None
    ) -> None:
        """Counts the pairs of a block in one ``interval``; without it, the pairs of row i in interval i."""
        if interval is None:
            self.n_below += (squared < low).sum(axis=1)
        else:
            self.n_below[interval] += np.count_nonzero(squared < low)
        for rows, _, distance in by_distance.exact_distances(query, items, (squared >= low) & (squared <= high)):
            if interval is not None:
                rows.fill(interval)
            self._keep(rows, distance)

    def _keep(self, interval: Ints, distance: Floats) -> None:
        intervals = np.concatenate([self.interval, interval])
        distances = np.concatenate([self.distance, distance])
        order = np.lexsort((distances, intervals))
        intervals = intervals[order]
        distances = distances[order]
        is_new = np.ones(len(intervals), np.bool_)
        is_new[1:] = (np.diff(intervals) != 0) | (np.diff(distances) != 0)
        first = np.flatnonzero(is_new)
        n_equal = np.concatenate([self.n_equal, np.ones(len(interval), np.int64)])[order]
        self.interval = intervals[first]
        self.distance = distances[first]
        self.n_equal = np.add.reduceat(n_equal, first)

    def at(self, ranks: Ints) -> Floats:
        """For each interval the distance with its rank, counted from 1 among all pairs; float64[intervals]."""
        distances = np.empty(len(ranks))
        for interval, rank in enumerate(ranks - self.n_below):
            part = slice(*np.searchsorted(self.interval, [interval, interval + 1]))
            distances[interval] = self.distance[part][np.searchsorted(np.cumsum(self.n_equal[part]), rank)]
        return distances


def _nearest(query: Floats, database: Rows, k: int) -> Floats:
    intervals = _Intervals(len(query))
    near, wrong_by = _near(query, database, k)
    # wide enough for the rounding of the product and of the differences, on either side
    low = (near - 4 * wrong_by)[:, None]
    high = (near + 4 * wrong_by)[:, None]
    for items in _tiles(database):
        intervals.add(query, items, by_distance.squared_distances(query, items), low, high)
    return intervals.at(np.full(len(query), k))


def _near(query: Floats, database: Rows, k: int) -> tuple[Floats, Floats]:
    """(the ``k``-th smallest squared distance, the largest rounding error of one), float64[q] each."""
    kept = np.empty((len(query), _width(k)))
    filled = 0
    largest = 0.0
    for items in _tiles(database):
        if filled + len(items) > kept.shape[1]:
            kept[:, :filled].partition(k - 1, axis=1)
            filled = k
        kept[:, filled : filled + len(items)] = by_distance.squared_distances(query, items)
        filled += len(items)
        largest = max(largest, float(by_distance.squared_norms(items).max()))
    near = np.partition(kept[:, :filled], k - 1, axis=1)[:, k - 1]
    return near, by_distance.rounding(query.shape[1], by_distance.squared_norms(query), np.array(largest))


def _width(k: int) -> int:
    """The number of distances of a query in memory; when there are so many, only the ``k`` nearest are kept."""
    return 2 * k + 4 * TILE


def _pair_intervals(features: Rows, ranks: Ints) -> tuple[Floats, Floats]:
    """(low, high) squared distances around the pairs of those ranks, rounding included; float64[ranks]."""
    largest = max(float(by_distance.squared_norms(items).max()) for items in _tiles(features))
    scale = 4 * largest or 1.0  # no two items are farther apart
    n_until = np.zeros(BINS, np.int64)
    for _, _, squared in _pairs(features):
        values = np.maximum(squared[np.isfinite(squared)] / scale, 0).astype(np.float32)
        n_until += np.bincount(values.view(np.uint32) >> DROPPED, minlength=BINS)
    # a bin is the leading bits of the float32 of a value from 0 to 1, which have the order of the values
    bins = np.add.outer([0, 1], np.searchsorted(np.cumsum(n_until), ranks))  # edges of a bin
    low, high = (bins.astype(np.uint32) << DROPPED).view(np.float32).astype(np.float64) * scale
    wrong_by = 4 * by_distance.rounding(features.shape[1], np.array(largest), np.array(largest))
    # the bins were chosen after rounding to float32
    return low * (1 - 2.0**-23) - wrong_by, high * (1 + 2.0**-23) + wrong_by


def _pairs(features: Rows) -> Iterator[tuple[Floats, Floats, Floats]]:
    """(rows, rows, squared distances) of blocks in which each pair comes once; all other entries are infinity."""
    for first, query in enumerate(_tiles(features)):
        for second, items in enumerate(_tiles(features, first * TILE), first):
            squared = by_distance.squared_distances(query, items)
            if first == second:
                squared[np.tril_indices(len(query))] = np.inf
            yield query, items, squared


def _tiles(features: Rows, start: int = 0) -> Iterator[Floats]:
    return (as_float64(features[first : first + TILE]) for first in range(start, features.shape[0], TILE))
