"""The scatter of the soft histogram, and its gather, on a CPU: one pass over the pairs, without temporaries.

The arithmetic is that of the torch form in ``_soft_histogram``, in the same order and precision: the results are
equal bit for bit, and a test says so.
"""

from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hashbench.histogram.numba_kernel import compiled

Floats = NDArray[Any]  # float32 or float64, the same in one call
Levels = NDArray[np.int64]
Places = NDArray[np.int32]

# Pairs. Torch's threads spin for a while after its matrix products and are in the way of others: on two cores a second
# thread costs time at 2,048 examples (40 ms in place of 32) and saves some at 4,096 (140 in place of 200).
_WORTH_A_THREAD = 1 << 23


def _scatter(
    distance: Floats,
    level: Levels,
    counts: Floats,
    kept: Places,
    n_columns: int,
    weights: Floats,
    constants: Floats,
    start: int,
) -> None:
    """Adds to ``counts`` [rows, ...] the triangles of rows ``start`` and on; weights [2 reach, 2]: slope, height.

    Writes where each triangle stands to ``kept``, for the gradient: in the column that is cut off where there is none.
    """
    per_bit, zero, one = constants[0], constants[1], constants[2]
    last, half, farthest = constants[3], constants[4], constants[5]
    columns, nowhere = np.uint32(n_columns), np.uint32(n_columns - 1)
    place, fraction = np.empty(distance.shape[1], np.uint32), np.empty_like(distance[0])  # unsigned: never from the end
    for i in range(len(distance)):
        for j in range(len(fraction)):  # without a branch, so that it is done for several at once
            position = distance[i, j] * per_bit
            lower = np.floor(position)
            lower = lower if lower >= zero else zero  # NaN too: it stays in the fraction, and would be no index
            lower = min(lower, last)
            past = position - lower  # outside [0, 1] only for distances outside [0, bits]
            place[j] = np.uint32(lower) * columns + np.uint32(level[i, j])
            kept[i, j] = nowhere if abs(past - half) > farthest else place[j]
            past = zero if past < zero else past  # not max() and min(), which would lose NaN
            fraction[j] = one if past > one else past
        place[start + i] += nowhere - np.uint32(level[i, start + i])
        kept[i, start + i] = nowhere
        row = counts[i]
        for k in range(len(weights)):
            slope, height, shift = weights[k, 0], weights[k, 1], np.uint32(k) * columns
            for j in range(len(fraction)):
                weight = fraction[j] * slope + height
                row[place[j] + shift] += zero if weight < zero else weight


def _gather(kept: Places, of_position: Floats, of_distance: Floats, constants: Floats) -> None:
    """Writes the gradient with respect to the distances, where every triangle reaches all its bins."""
    per_bit = constants[0]
    for i in range(len(kept)):
        for j in range(kept.shape[1]):
            of_distance[i, j] = of_position[i, kept[i, j]] * per_bit


def _gather_ends(
    kept: Places,
    distance: Floats,
    of_counts: Floats,
    of_position: Floats,
    of_distance: Floats,
    n_columns: int,
    weights: Floats,
    constants: Floats,
) -> None:
    """As ``_gather``, where a triangle may fail to reach its first bin and its last: ``of_position`` lacks them."""
    per_bit, zero = constants[0], constants[1]
    last = len(weights) - 1
    for i in range(len(kept)):
        for j in range(kept.shape[1]):
            place = kept[i, j]
            fraction = distance[i, j] * per_bit - place // n_columns
            gathered = of_position[i, place]
            for k in (0, last):
                if fraction * weights[k, 0] + weights[k, 1] > zero:
                    gathered += weights[k, 0] * of_counts[i, place + k * n_columns]
            of_distance[i, j] = gathered * per_bit


@cache
def _kernel(function: Callable[..., None], dtype: Hashable) -> Callable[..., None]:  # noqa: ARG001  (a kernel each)
    """``function`` compiled for one type of floats."""
    return compiled(function)


def scatter(
    distance: Floats, level: Levels, counts: Floats, kept: Places, n_columns: int, weights: Floats, constants: Floats
) -> None:
    """Adds the triangles of all pairs to ``counts`` [M, width].

    Args:
        distance: [M, M].
        level: int64[M, M].
        counts: the bins with their margins, one after the other, ``n_columns`` to a bin.
        kept: int32[M, M], where in a row of counts each triangle stands; for the gradient.
        n_columns: columns of a bin.
        weights: slope and height of each bin under a triangle, [2 reach, 2].
        constants: bins a bit, 0, 1, the last lower bin, 1/2, and how far from 1/2 a fraction may be.
    """
    kernel = _kernel(_scatter, distance.dtype)
    _by_rows(
        distance,
        lambda rows: kernel(
            distance[rows], level[rows], counts[rows], kept[rows], n_columns, weights, constants, rows.start
        ),
    )


def gather(kept: Places, of_position: Floats, of_distance: Floats, constants: Floats) -> None:
    """Writes ``of_distance`` [M, M], the gradient of all distances, from ``of_position``, that of a triangle's place.

    Where every triangle reaches all its bins; the other arguments as of ``scatter``.
    """
    kernel = _kernel(_gather, of_distance.dtype)
    _by_rows(of_distance, lambda rows: kernel(kept[rows], of_position[rows], of_distance[rows], constants))


def gather_ends(
    kept: Places,
    distance: Floats,
    of_counts: Floats,
    of_position: Floats,
    of_distance: Floats,
    n_columns: int,
    weights: Floats,
    constants: Floats,
) -> None:
    """As ``gather``, where a triangle may fail to reach its first and last bin: their share is in ``of_counts``."""
    kernel = _kernel(_gather_ends, distance.dtype)
    _by_rows(
        distance,
        lambda rows: kernel(
            kept[rows],
            distance[rows],
            of_counts[rows],
            of_position[rows],
            of_distance[rows],
            n_columns,
            weights,
            constants,
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
