"""The compiled parts of the search for nearest vectors: the few values that can still enter, and exact distances."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hashbench.scoring.histogram.numba_kernel import compiled

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
fast = njit(nogil=True, fastmath={"reassoc", "nnan", "nsz"})  # several numbers at once, which are finite
WIDTH = 128  # values that are compared together, before any of them is looked at alone


@compiled
def add_below(
    products: Singles, n_items: int, first_id: int, bounds: Singles, values: Singles, ids: NDArray[np.int32],
    n_kept: NDArray[np.int64],
) -> None:  # fmt: skip
    """Adds those of the first ``n_items`` of ``products`` [q, n] below the bound of their query to its kept ones."""
    for q in range(len(products)):
        bound = bounds[q]
        kept = n_kept[q]
        for start in range(0, n_items, WIDTH):
            stop = min(start + WIDTH, n_items)
            if _least(products[q, start:stop]) < bound:
                for j in range(start, stop):
                    if products[q, j] < bound:
                        values[q, kept] = products[q, j]
                        ids[q, kept] = first_id + j
                        kept += 1
        n_kept[q] = kept


@compiled
def exact_distances(items: Any, queries: Floats, scaled: bool, by_product: bool, values: Floats) -> None:
    """Writes the squared distances of ``items`` [q, n, d] to ``queries`` [q, d], or products, to ``values`` [q, n].

    Items are float32 or float64, and numbers are float64 from there on; ``scaled`` divides an item by its norm first.
    """
    for q in range(items.shape[0]):
        for i in range(items.shape[1]):
            item = items[q, i]
            if by_product:
                values[q, i] = _product(item, queries[q])
            elif scaled:
                values[q, i] = _squared_distance(item, queries[q], 1 / np.sqrt(_product(item, item)))
            else:
                values[q, i] = _squared_distance(item, queries[q], 1.0)


@fast
def _least(values: Singles) -> Any:
    least = values[0]
    for value in values:
        least = min(least, value)
    return least


@fast
def _squared_distance(item: Any, query: Floats, scale: float) -> float:
    total = 0.0
    for j in range(len(item)):
        total += (scale * item[j] - query[j]) ** 2
    return total


@fast
def _product(item: Any, other: Any) -> float:
    total = 0.0
    for j in range(len(item)):
        total += np.float64(item[j]) * other[j]
    return total
