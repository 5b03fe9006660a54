"""The scatter of the soft histogram, and its gather, on a CPU: one pass over the pairs, without temporaries.

The arithmetic is that of the torch form in ``_soft_histogram``, in the same order and precision: the results are
equal bit for bit, and a test says so.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hashbench.histogram_numba import compiled, inner

Floats = NDArray[Any]  # float32 or float64, the same in one call
Levels = NDArray[np.int64]

_WORTH_A_THREAD = 1 << 15  # pairs


@inner
def _locate(
    distance: Floats, level: Levels, n_columns: int, constants: Floats, place: Levels, fraction: Floats
) -> None:
    """The place of each triangle of a row, and how far its centre is past its lower bin (outside [0, 1] if outside)."""
    per_bit, zero, last = constants[0], constants[1], constants[3]
    for j in range(len(distance)):
        position = distance[j] * per_bit
        lower = np.floor(position)
        if not lower >= zero:  # NaN too: it stays in the fraction, and would be no index
            lower = zero
        lower = min(lower, last)
        fraction[j] = position - lower
        place[j] = int(lower) * n_columns + level[j]


def _scatter(
    distance: Floats, level: Levels, counts: Floats, n_columns: int, weights: Floats, constants: Floats, start: int
) -> None:
    """Adds to ``counts`` [rows, ...] the triangles of rows ``start`` and on; weights [2 reach, 2]: slope, height."""
    zero, one = constants[1], constants[2]
    place, fraction = np.empty(distance.shape[1], np.int64), np.empty_like(distance[0])
    for i in range(len(distance)):
        _locate(distance[i], level[i], n_columns, constants, place, fraction)
        for j in range(len(fraction)):
            if fraction[j] < zero:  # noqa: PLR1730  (max() would lose NaN)
                fraction[j] = zero
            if fraction[j] > one:  # noqa: PLR1730
                fraction[j] = one
        place[start + i] += n_columns - 1 - level[i, start + i]  # the column that is cut off
        for k in range(len(weights)):
            slope, height, shift = weights[k, 0], weights[k, 1], k * n_columns
            for j in range(len(fraction)):
                weight = fraction[j] * slope + height
                if not weight <= zero:
                    counts[i, place[j] + shift] += weight


def _gather(
    distance: Floats,
    level: Levels,
    of_counts: Floats,
    of_position: Floats,
    of_distance: Floats,
    n_columns: int,
    weights: Floats,
    ends: Levels,
    constants: Floats,
    start: int,
) -> None:
    """Writes the gradient with respect to the distances of rows ``start`` and on."""
    per_bit, zero, half, farthest = constants[0], constants[1], constants[4], constants[5]
    place, fraction = np.empty(distance.shape[1], np.int64), np.empty_like(distance[0])
    for i in range(len(distance)):
        _locate(distance[i], level[i], n_columns, constants, place, fraction)
        for j in range(len(fraction)):
            gathered = of_position[i, place[j]]
            for k in ends:
                if fraction[j] * weights[k, 0] + weights[k, 1] > zero:
                    gathered += weights[k, 0] * of_counts[i, place[j] + k * n_columns]
            if j == start + i or abs(fraction[j] - half) > farthest:
                gathered = zero
            of_distance[i, j] = gathered * per_bit


_COMPILED: dict[tuple[Any, Any], Callable[..., None]] = {}


def _kernel(function: Callable[..., None], dtype: Any) -> Callable[..., None]:
    """``function`` compiled for one type of floats."""
    return _COMPILED.setdefault((function, dtype), compiled(function))


def scatter(
    distance: Floats, level: Levels, counts: Floats, n_columns: int, weights: Floats, constants: Floats
) -> None:
    """Adds the triangles of all pairs to ``counts`` [M, width].

    Args:
        distance: [M, M].
        level: int64[M, M].
        counts: the bins with their margins, one after the other, ``n_columns`` to a bin.
        n_columns: columns of a bin.
        weights: slope and height of each bin under a triangle, [2 reach, 2].
        constants: bins a bit, 0, 1, the last lower bin, 1/2, and how far from 1/2 a fraction may be.
    """
    kernel = _kernel(_scatter, distance.dtype.type)
    _by_rows(
        distance,
        lambda rows: kernel(distance[rows], level[rows], counts[rows], n_columns, weights, constants, rows.start),
    )


def gather(
    distance: Floats,
    level: Levels,
    of_counts: Floats,
    of_position: Floats,
    of_distance: Floats,
    n_columns: int,
    weights: Floats,
    ends: Levels,
    constants: Floats,
) -> None:
    """Writes ``of_distance`` [M, M], the gradient of all distances, from that of the counts; as ``scatter``.

    ``of_position`` is the gradient of a triangle's position by its place, without the bins ``ends``, which a
    triangle may fail to reach.
    """
    kernel = _kernel(_gather, distance.dtype.type)
    _by_rows(
        distance,
        lambda rows: kernel(
            distance[rows],
            level[rows],
            of_counts[rows],
            of_position[rows],
            of_distance[rows],
            n_columns,
            weights,
            ends,
            constants,
            rows.start,
        ),
    )


def _by_rows(distance: Floats, work: Callable[[slice], None]) -> None:
    """Does ``work`` on all rows, on as many threads as torch uses where that is worth it."""
    n_rows = len(distance)
    n_threads = max(1, min(torch.get_num_threads(), distance.size // _WORTH_A_THREAD))
    if n_threads == 1:
        work(slice(0, n_rows))
        return
    bounds = [n_rows * part // n_threads for part in range(n_threads + 1)]
    with ThreadPoolExecutor(n_threads - 1) as pool:
        others = [pool.submit(work, slice(*pair)) for pair in pairwise(bounds[1:])]
        work(slice(0, bounds[1]))
        for other in others:
            other.result()
