"""The type of a feature extractor: it builds a module from stored items to features, and names its constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class FeatureModule:
    """``module`` maps stored items [n, ...] to float32 features [n, width].

    ``constants`` are all values that decide the features, except the items; they are stored with the features.
    """

    module: nn.Module
    width: int
    constants: Mapping[str, Any]


@dataclass(frozen=True)
class Extractor:
    """``build(item_shape, value_max)`` returns the module for the items of a data set; ``batch`` items run at a time.

    ``item_shape`` is (height, width, channels) of images, in which the value ``value_max`` means 1.0, or (d,) of
    features, whose ``value_max`` is None. ``build`` raises HashbenchError if it does not accept such items.
    """

    summary: str
    build: Callable[[tuple[int, ...], float | None], FeatureModule]
    batch: int
