"""Distances by rank, exactly and in blocks: percentiles over all pairs of a set, and the k-th nearest of each query.

Both look at all pairs twice. A first pass, by matrix products, finds about where a distance of the wanted rank lies.
A second counts the pairs that are certainly nearer and computes, from the differences, the few that may be it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError
from hashbench.parallel import slices
from hashbench.relevance.distances import (
    Floats,
    Rows,
    as_float64,
    exact_distances,
    require_alike,
    rounding,
    squared_distances,
    squared_norms,
)

Ints = NDArray[np.int64]

TILE = 1 << 10  # items on either side of a block of pairs: 8 MiB of distances
HELD = 1 << 24  # distances of queries held together: 128 MiB
BINS = 1 << 20  # of the first pass: 4096 for each doubling of the squared distance


def percentiles(features: Rows, percents: Sequence[float]) -> tuple[float, ...]:
    """The percentiles of the distances between all pairs of rows of ``features`` [n, f]: thresholds for a relevance.

    Rank i of m stands at (i - 1/2) / m of the way and what lies between two ranks is interpolated, as in MATLAB's
    prctile, which the field's thresholds came from; NumPy calls that ``hazen``, and its own default stands rank i at
    (i - 1) / (m - 1), which is another number, by less than a rank. Exact in float64. Takes 2 n^2 f multiplications;
    holds 8 MiB a block of pairs, and the distinct distances within 1/4096 of each percentile.

    >>> percentiles(np.array([[0.0], [1.0], [3.0]]), [50])
    (2.0,)
    """
    n, m = features.shape[0], features.shape[0] * (features.shape[0] - 1) // 2
    if not m:
        raise HashbenchError(f"percentiles: {n} rows have no pair; at least 2 are needed")
    require_alike(features, features)
    position = np.clip(np.asarray(percents, np.float64) / 100 * m + 0.5, 1, m)
    lower = position.astype(np.int64)
    ranks = np.concatenate([lower, np.minimum(lower + 1, m)])
    low, high = _pair_zones(features, ranks)
    found = _Zones.of(len(ranks))
    for query, items, squared in _pairs(features):
        for zone in range(len(ranks)):
            found.add(query, items, squared, low[zone], high[zone], zone)
    below, above = found.at(ranks).reshape(2, -1)
    return tuple((below + (above - below) * (position - lower)).tolist())


def nearest(query: Rows, database: Rows, k: int) -> Floats:
    """The distance of each query's ``k``-th nearest item, float64[q]; exact in float64.

    As thresholds they hold k items a query, and more where several lie at the k-th distance. Takes 2 q n f
    multiplications; holds 128 MiB of distances, and blocks of features, whatever q and n, while k < 8,000,000.

    >>> nearest(np.array([[0.0], [5.0]]), np.array([[1.0], [2.0], [7.0]]), 2)
    array([2., 3.])
    """
    require_alike(query, database)
    if not 1 <= k <= database.shape[0]:
        raise HashbenchError(f"nearest: rank {k} of {database.shape[0]} items: 1 to {database.shape[0]} exist")
    step = min(TILE, max(1, HELD // _width(k)))
    return np.concatenate([_nearest(as_float64(query[rows]), database, k) for rows in slices(query.shape[0], step)])


@dataclass
class _Zones:
    """For each zone of distances: how many pairs lie below it, and the exact distances inside with how many have them.

    Equal distances are held once, so that a set of duplicates does not fill the memory.
    """

    n_below: Ints
    zone: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    distance: Floats = field(default_factory=lambda: np.empty(0, np.float64))
    n_equal: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    @staticmethod
    def of(n_zones: int) -> "_Zones":
        return _Zones(np.zeros(n_zones, np.int64))

    def add(
        self, query: Floats, items: Floats, squared: Floats, low: Floats, high: Floats, zone: int | None = None
    ) -> None:
        """Counts the pairs of a block against one ``zone``; without one, each row of it against its own."""
        inside = (squared >= low) & (squared <= high)
        if zone is None:
            self.n_below += (squared < low).sum(axis=1)
        else:
            self.n_below[zone] += np.count_nonzero(squared < low)
        for rows, _, distance in exact_distances(query, items, inside):
            self._hold(rows if zone is None else np.full_like(rows, zone), distance)

    def _hold(self, zone: Ints, distance: Floats) -> None:
        zones, distances = np.concatenate([self.zone, zone]), np.concatenate([self.distance, distance])
        order = np.lexsort((distances, zones))
        zones, distances = zones[order], distances[order]
        is_new = np.ones(len(zones), np.bool_)
        is_new[1:] = (np.diff(zones) != 0) | (np.diff(distances) != 0)
        first = np.flatnonzero(is_new)
        n_equal = np.concatenate([self.n_equal, np.ones(len(zone), np.int64)])[order]
        self.zone, self.distance, self.n_equal = zones[first], distances[first], np.add.reduceat(n_equal, first)

    def at(self, ranks: Ints) -> Floats:
        """The distance that has ``ranks[zone]``, from 1, among all pairs; float64[zones]."""
        found = np.empty(len(ranks))
        for zone, rank in enumerate(ranks - self.n_below):
            part = slice(*np.searchsorted(self.zone, [zone, zone + 1]))
            found[zone] = self.distance[part][np.searchsorted(np.cumsum(self.n_equal[part]), rank)]
        return found


def _nearest(query: Floats, database: Rows, k: int) -> Floats:
    found, ranks = _Zones.of(len(query)), np.full(len(query), k, np.int64)
    near, wrong_by = _near(query, database, k)
    # of a distance that is computed from the differences, too, and on either side
    low, high = (near - 4 * wrong_by)[:, None], (near + 4 * wrong_by)[:, None]
    for items in _tiles(database):
        found.add(query, items, squared_distances(query, items), low, high)
    return found.at(ranks)


def _near(query: Floats, database: Rows, k: int) -> tuple[Floats, Floats]:
    """(the ``k``-th smallest squared distance, how far rounding may have taken any), float64[q]."""
    nearest, filled, largest = np.empty((len(query), _width(k))), 0, 0.0
    for items in _tiles(database):
        if filled + len(items) > nearest.shape[1]:
            nearest[:, :filled].partition(k - 1, axis=1)
            filled = k
        nearest[:, filled : filled + len(items)] = squared_distances(query, items)
        filled += len(items)
        largest = max(largest, float(squared_norms(items).max()))
    near = np.partition(nearest[:, :filled], k - 1, axis=1)[:, k - 1]
    return near, rounding(query.shape[1], squared_norms(query), np.array(largest))


def _width(k: int) -> int:
    """How many distances of a query are held: the nearest are picked out when so many have come together."""
    return 2 * k + 4 * TILE


def _pair_zones(features: Rows, ranks: Ints) -> tuple[Floats, Floats]:
    """Between which squared distances the pairs of those ranks lie, rounding allowed for; float64[ranks] each."""
    largest = max(float(squared_norms(items).max()) for items in _tiles(features))
    scale = 4 * largest or 1.0  # no two items are farther apart
    n_until = np.zeros(BINS, np.int64)
    for _, _, squared in _pairs(features):
        n_until += np.bincount(_bin(squared[np.isfinite(squared)] / scale), minlength=BINS)
    at = np.searchsorted(np.cumsum(n_until), ranks)
    # float32 has rounded what was put into a bin
    low, high = _edge(at) * (1 - 2.0**-23) * scale, _edge(at + 1) * (1 + 2.0**-23) * scale
    wrong_by = 4 * rounding(features.shape[1], np.array(largest), np.array(largest))
    return low - wrong_by, high + wrong_by


def _bin(squared: Floats) -> NDArray[np.uint32]:
    """The bin of values from 0 to 1: the leading bits of a float32, which are in the order of the numbers."""
    bits: NDArray[np.uint32] = np.maximum(squared, 0).astype(np.float32).view(np.uint32)
    return bits >> np.uint32(11)


def _edge(bins: Ints) -> Floats:
    """Where the bins begin."""
    return (bins.astype(np.uint32) << np.uint32(11)).view(np.float32).astype(np.float64)


def _pairs(features: Rows) -> Iterator[tuple[Floats, Floats, Floats]]:
    """(rows, rows, squared distances), so that each pair comes once; infinity stands where none of it is meant."""
    for first, query in enumerate(_tiles(features)):
        for second, items in enumerate(_tiles(features, first * TILE), first):
            squared = squared_distances(query, items)
            if first == second:
                squared[np.tril_indices(len(query))] = np.inf
            yield query, items, squared


def _tiles(features: Rows, start: int = 0) -> Iterator[Floats]:
    for first in range(start, features.shape[0], TILE):
        yield as_float64(features[first : first + TILE])
