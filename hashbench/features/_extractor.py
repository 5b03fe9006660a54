"""What extracts features: a module from stored items to rows, and the constants that make it what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class FeatureModule:
    """``module`` maps items as the data set stores them, [n, ...], to float32 features [n, width].

    ``constants`` are everything that decides the features but the items: they are stored with them.
    """

    module: nn.Module
    width: int
    constants: Mapping[str, Any]


@dataclass(frozen=True)
class Extractor:
    """``build(item_shape, value_max)`` makes it for the items of a data set; ``batch`` is how many are done at once.

    ``item_shape`` is (height, width, channels) of images, whose value ``value_max`` means 1.0, or (d,) of features,
    whose ``value_max`` is None. An item it cannot take is a HashbenchError.
    """

    summary: str
    build: Callable[[tuple[int, ...], float | None], FeatureModule]
    batch: int
