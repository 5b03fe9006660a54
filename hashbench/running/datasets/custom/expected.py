"""The shape and the values that a trained hasher expects of items."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import note
from hashbench.learning.steps import LARGEST

BYTE_MAX = 255
ROUNDING = 1e-6  # a norm that differs from 1 by no more is 1, so that a vector of norm 1 stays as it is


def require_shape(where: Path | str, shape: tuple[int, ...], dtype: np.dtype[Any], item: tuple[int, ...]) -> None:
    """Raises HashbenchError unless an array of ``shape`` holds numbers, of one or more items of the shape ``item``."""
    if shape == item:
        expected = ", ".join(map(str, (1, *item)))
        raise HashbenchError(f"{where}: shape {shape} is that of one item: give [{expected}], as x[None] makes it")
    if shape == (0, *item):
        raise HashbenchError(f"{where}: no items: one or more are expected")
    if not shape or shape[1:] != item:
        raise HashbenchError(f"{where}: shape {shape}; the hasher takes [n, {', '.join(map(str, item))}]")
    if dtype.kind not in "buif":
        raise HashbenchError(f"{where}: items must be numbers, these are {dtype}")


def require_range(where: Path | str, items: NDArray[Any], value_max: int | None) -> None:
    """Raises HashbenchError for a value outside 0 .. ``value_max``, or, without one, beyond ``LARGEST`` or NaN."""
    smallest = -LARGEST
    largest = LARGEST
    why = ""
    if value_max is not None:
        smallest = 0
        largest = value_max
        why = ", as in the data set"
    low = float(items.min())
    high = float(items.max())
    if not (smallest <= low and high <= largest):  # NaN is in no range
        fault = f"values from {low:g} to {high:g}"
        if np.isnan(low):
            fault = "a value is NaN"
        raise HashbenchError(f"{where}: {fault}; {smallest:g} to {largest:g} are expected{why}")


def norms_of(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """The norms of ``vectors`` [n, d]."""
    return np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64))


def of_unit_norm(items: NDArray[Any]) -> NDArray[np.float32]:
    """The vectors [n, d] with norm 1, as a data set stores them for cosine; HashbenchError if one has the norm 0."""
    vectors = items.astype(np.float32, copy=False)
    norms = norms_of(vectors)
    if not norms.all():
        raise HashbenchError(f"items: row {int(np.argmin(norms))} has norm 0, and no cosine: leave it out")
    return divided(vectors, norms)


def divided(vectors: NDArray[np.float32], norms: NDArray[np.float64]) -> NDArray[np.float32]:
    """The ``vectors`` [n, d] over their ``norms`` [n]; one whose norm is 1 stays as it is."""
    divisors = np.where(np.abs(norms - 1) <= ROUNDING, 1, norms)
    return (vectors / divisors[:, None]).astype(np.float32)


def note_if_dark(where: Path | str, items: NDArray[Any], value_max: int | None) -> None:
    """Prints a note where images of floats are 0 to 1, and the hasher takes 0 to 255: somebody has divided them."""
    are_images = items.ndim == 4 and items.dtype.kind == "f"
    if are_images and value_max == BYTE_MAX and items.max() <= 1:
        note(f"note: {where}: no value is above 1, and images of values 0 to {value_max} are expected")
