"""Affinity from Euclidean distances: the nearer two items lie, the higher their level."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError

Features = NDArray[np.floating]

PAIRS = 1 << 18  # distances held together, 2 MiB
TALR_LEVELS = (1, 2, 5, 10)  # of the thresholds at 5, 1, 0.2 and 0.1 percent [He et al. 2018, section 5.3]


@dataclass(frozen=True)
class DistanceAffinity:
    """Levels from the Euclidean distance between features float[q, f] and float[n, f].

    ``thresholds`` descend and ``values`` ascend: a pair has ``values[i]`` where its distance is at most
    ``thresholds[i]`` and not at most a later one, and level 0 beyond the first. Levels are those of the distance in
    float64, summed over the differences; LabelMe's are 1, 2, 5 and 10 at the 5th, 1st, 0.2nd and 0.1st percentile.

    >>> near = DistanceAffinity(np.zeros((1, 1)), np.array([[0.5], [2.0], [9.0]]), (3.0, 1.0), (1, 10))
    >>> near.levels[near.block(slice(0, 1), slice(0, 3))]
    array([[10,  1,  0]])
    """

    query_features: Features
    database_features: Features
    thresholds: tuple[float, ...]
    values: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        query, database = self.query_features, self.database_features
        if query.ndim != 2 or database.ndim != 2 or query.shape[1] != database.shape[1]:
            raise HashbenchError(f"features of shapes {query.shape} and {database.shape}: items x dimensions, alike")
        if not np.isfinite(query).all() or not np.isfinite(database).all():
            raise HashbenchError("features: not finite (NaN or inf); distances cannot be made of them")
        falls = all(np.diff(self.thresholds) < 0) and self.thresholds[-1:] >= (0.0,)
        rises = all(np.diff((0, *self.values)) > 0)
        if len(self.thresholds) != len(self.values) or not falls or not rises:
            raise HashbenchError(
                f"thresholds {self.thresholds} and values {self.values}: as many of each, distances descending to no "
                "less than 0 and levels ascending from 1"
            )

    @property
    def levels(self) -> NDArray[np.int64]:
        """0 and the values of the thresholds."""
        return np.array((0, *self.values), np.int64)

    @property
    def shape(self) -> tuple[int, int]:
        """(queries, database items)."""
        return len(self.query_features), len(self.database_features)

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        """Indices into ``levels``, uint16[q, n]."""
        query = self.query_features[queries].astype(np.float64)
        items = self.database_features[database].astype(np.float64)
        level = np.empty((len(query), len(items)), np.uint16)
        step = max(1, PAIRS // max(1, len(query)))
        for first in range(0, len(items), step):
            level[:, first : first + step] = self._level(query, items[first : first + step])
        return level

    def _level(self, query: Features, items: Features) -> NDArray[np.uint16]:
        """The levels of all pairs: by a matrix product, and once more by hand where its rounding could matter."""
        norms = (query**2).sum(axis=1)[:, None], (items**2).sum(axis=1)[None]
        squared = norms[0] + norms[1] - 2 * (query @ items.T)
        rounding = 4 * (query.shape[1] + 4) * np.finfo(np.float64).eps * (norms[0] + norms[1])
        level = np.zeros(squared.shape, np.uint16)
        doubtful = np.zeros(squared.shape, bool)
        for threshold in self.thresholds:
            level += squared <= threshold**2
            doubtful |= np.abs(squared - threshold**2) <= rounding + 4 * np.finfo(np.float64).eps * threshold**2
        rows, columns = np.nonzero(doubtful)
        for first in range(0, len(rows), 1 << 14):
            pairs = rows[first : first + (1 << 14)], columns[first : first + (1 << 14)]
            distance = euclidean(query[pairs[0]], items[pairs[1]])
            level[pairs] = (distance[:, None] <= np.array(self.thresholds)).sum(axis=1)
        return level


def euclidean(one: Features, other: Features) -> NDArray[np.float64]:
    """The Euclidean distances between rows, float64[n], in float64 from the differences."""
    return np.sqrt(((one.astype(np.float64) - other.astype(np.float64)) ** 2).sum(axis=-1))


def percentiles(features: Features, percents: Sequence[float]) -> tuple[float, ...]:
    """The percentiles of the distances between all pairs of rows of ``features`` [n, f]: thresholds for an affinity.

    Rank i of m stands at (i - 1/2) / m of the way, as in MATLAB's prctile, which the field's thresholds came from.
    Holds the n (n - 1) / 2 distances: 100 MB for 5,000 rows.

    >>> percentiles(np.array([[0.0], [1.0], [3.0]]), [50])
    (2.0,)
    """
    if len(features) < 2:
        raise HashbenchError(f"percentiles: {len(features)} rows have no pair; at least 2 are needed")
    pairs = [euclidean(row, features[i + 1 :]) for i, row in enumerate(features[:-1])]
    return tuple(np.percentile(np.concatenate(pairs), percents, method="hazen").tolist())
