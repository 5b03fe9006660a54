"""Items as a caller of Python gives them, for a trained hasher to encode."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.array_like import as_array
from hashbench.running.datasets.custom.expected import note_if_dark, require_range, require_shape


def array_of(items: Any, shape: tuple[int, ...], value_max: int | None = None) -> NDArray[Any]:
    """The array [n, *shape] of ``items``, maybe none: an array, a tensor or a list; a path, or a list of paths."""
    if isinstance(items, str | PathLike):
        return _read(items, shape, value_max)
    if isinstance(items, list | tuple) and items and all(isinstance(item, str | PathLike) for item in items):
        return np.concatenate([_read(item, shape, value_max) for item in items])
    array = as_array("items", items)
    if array.shape == (0, *shape):
        return array
    require_shape("items", array.shape, array.dtype, shape)
    require_range("items", array, value_max)
    note_if_dark("items", array, value_max)
    return array


def _read(path: str | PathLike[str], shape: tuple[int, ...], value_max: int | None) -> NDArray[Any]:
    from hashbench.running.datasets.custom import inputs  # arrays need no readers of files

    return np.asarray(inputs.read(Path(path), shape, value_max=value_max).items)
