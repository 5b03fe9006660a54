"""The kernels of the soft histogram on a CPU, ``scatter`` and the gather of its gradient: one pass over the pairs.

They calculate as the torch form in ``soft_histogram`` does, in the same order and precision: a test checks that the
results are equal bit for bit. ``weights`` [2 reach, 2] are slope and height of each bin under a triangle; a bin has
``width`` columns; ``numbers`` are bins per bit, 0, 1, the last lower bin, 1/2, how far from 1/2 a fraction may be.
"""

from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.parallel import available_cores
from hashbench.histogram.numba_kernel import compiled

Array = NDArray[Any]  # float32 or float64, the same in one call; levels and ``ids`` int64, indices int32

# The pairs for which one more thread pays. On two cores a second thread is slower at 2,048 examples (40 ms instead of
# 32) and faster at 4,096 (140 ms instead of 200).
_WORTH_A_THREAD = 1 << 23


def in_threads(kernel: Callable[..., None], by_row: tuple[Array, ...], *others: Any) -> None:
    """Calls ``kernel``, compiled, with the arrays ``by_row``, of which each thread takes a part, and ``others``."""
    function = _compiled(kernel, by_row[0].dtype)
    first = by_row[0]
    n_threads = max(1, min(available_cores(), first.size // _WORTH_A_THREAD))
    if n_threads == 1:
        function(*by_row, *others)
        return
    bounds = [len(first) * part // n_threads for part in range(n_threads + 1)]
    parts = [tuple(rows[start:stop] for rows in by_row) for start, stop in pairwise(bounds)]
    with ThreadPoolExecutor(n_threads - 1) as pool:
        waiting = [pool.submit(function, *part, *others) for part in parts[1:]]
        function(*parts[0], *others)
        for part in waiting:
            part.result()


@cache
def _compiled(kernel: Callable[..., None], dtype: Hashable) -> Callable[..., None]:  # noqa: ARG001  (the cache's key)
    return compiled(kernel)


def scatter(
    distance: Array, level: Array, ids: Array, counts: Array, kept: Array, width: int, weights: Array, numbers: Array
) -> None:
    """Adds the triangles of the rows of ``distance`` [rows, M] to ``counts`` [rows, ...]; ``ids`` are their numbers.

    It writes the index of each triangle to ``kept``; of a pair without gradient, that of the column that is cut off.
    """
    per_bit = numbers[0]
    zero = numbers[1]
    one = numbers[2]
    last = numbers[3]
    half = numbers[4]
    farthest = numbers[5]
    columns = np.uint32(width)
    nowhere = np.uint32(width - 1)
    # unsigned indices: the compiler needs no code for negative ones, which count from the end
    place = np.empty(distance.shape[1], np.uint32)
    fraction = np.empty_like(distance[0])
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
        place[ids[i]] += nowhere - np.uint32(level[i, ids[i]])
        kept[i, ids[i]] = nowhere
        row = counts[i]
        for k in range(len(weights)):
            slope = weights[k, 0]
            height = weights[k, 1]
            shift = np.uint32(k) * columns
            for j in range(len(fraction)):
                weight = fraction[j] * slope + height
                row[place[j] + shift] += zero if weight < zero else weight


def gather(of_distance: Array, kept: Array, of_position: Array, numbers: Array) -> None:
    """Writes the gradients ``of_distance`` [rows, M] from those ``of_position``, if triangles cover all their bins."""
    per_bit = numbers[0]
    for i in range(len(kept)):
        for j in range(kept.shape[1]):
            of_distance[i, j] = of_position[i, kept[i, j]] * per_bit


def gather_ends(
    of_distance: Array, kept: Array, of_position: Array, distance: Array, of_counts: Array,
    width: int, weights: Array, numbers: Array,
) -> None:  # fmt: skip
    """As ``gather``, if a triangle may not cover its first and last bin: their gradients are in ``of_counts``."""
    per_bit = numbers[0]
    zero = numbers[1]
    last = len(weights) - 1
    for i in range(len(kept)):
        for j in range(kept.shape[1]):
            place = kept[i, j]
            fraction = distance[i, j] * per_bit - place // width
            gathered = of_position[i, place]
            for k in (0, last):
                if fraction * weights[k, 0] + weights[k, 1] > zero:
                    gathered += weights[k, 0] * of_counts[i, place + k * width]
            of_distance[i, j] = gathered * per_bit
