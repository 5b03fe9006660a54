"""The scatter of the soft histogram, and the gather of its gradient, on a CPU: one pass over the pairs.

The arithmetic is that of the torch form in ``soft_histogram``, in the same order and precision; a test checks that the
results are equal bit for bit.
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

# The pairs for which one more thread pays. Torch's threads spin for a while after its matrix products and slow down
# other threads: on two cores a second thread is slower at 2,048 examples (40 ms instead of 32) and faster at 4,096
# (140 ms instead of 200).
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
    """Adds the triangles of the rows from ``start`` on to ``counts`` [rows, ...]; weights [2 reach, 2]: slope, height.

    It writes the index of each triangle to ``kept``, for the gradient. If a pair has no gradient, this is the index of
    the column that is cut off.
    """
    per_bit, zero, one = constants[0], constants[1], constants[2]
    last, half, farthest = constants[3], constants[4], constants[5]
    columns, nowhere = np.uint32(n_columns), np.uint32(n_columns - 1)
    # unsigned indices: the compiler needs no code for negative ones, which count from the end
    place, fraction = np.empty(distance.shape[1], np.uint32), np.empty_like(distance[0])
    for i in range(len(distance)):
        for j in range(len(fraction)):  # without branches, so that the compiler can vectorise it
            position = distance[i, j] * per_bit
            lower = np.floor(position)
            lower = lower if lower >= zero else zero  # also for NaN, which would be no valid index
            lower = min(lower, last)
            past = position - lower  # outside [0, 1] only for distances outside [0, bits]
            place[j] = np.uint32(lower) * columns + np.uint32(level[i, j])
            kept[i, j] = nowhere if abs(past - half) > farthest else place[j]
            past = zero if past < zero else past  # max() and min() would replace NaN by a number
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
    """Writes the gradient with respect to the distances, if every triangle covers all its bins."""
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
    """As ``_gather``, if a triangle may not cover its first and last bin: ``of_position`` does not include those."""
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
def _kernel(function: Callable[..., None], dtype: Hashable) -> Callable[..., None]:  # noqa: ARG001  (the cache's key)
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
        kept: int32[M, M], the index of each triangle in its row of counts; for the gradient.
        n_columns: columns of a bin.
        weights: slope and height of each bin under a triangle, [2 reach, 2].
        constants: bins per bit, 0, 1, the last lower bin, 1/2, and how far from 1/2 a fraction may be.
    """
    kernel = _kernel(_scatter, distance.dtype)
    _by_rows(
        distance,
        lambda rows: kernel(
            distance[rows], level[rows], counts[rows], kept[rows], n_columns, weights, constants, rows.start
        ),
    )


def gather(kept: Places, of_position: Floats, of_distance: Floats, constants: Floats) -> None:
    """Writes ``of_distance`` [M, M], the gradient with respect to the distances, if triangles cover all their bins.

    ``of_position`` is the gradient with respect to the centre of a triangle at each index. The other arguments are
    those of ``scatter``.
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
    """As ``gather``, if a triangle may not cover its first and last bin: their gradients are in ``of_counts``."""
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
    """Calls ``work`` for all rows, in as many threads as torch uses if there are enough pairs."""
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
