"""The user's data as they were found: items that are read block by block, their labels and names."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.own.labels import OwnLabels
from hashbench.datasets.readers import Items


@dataclass(frozen=True, eq=False)
class OwnData:
    """Items of ``shape`` ([height, width, channels] images or [d] features) with labels; ``names`` [n] may be None.

    ``blocks()`` reads the items, uint8 for images, float32 for features, in the order of the labels. It raises
    HashbenchError where an item is not as it should be. ``n_ignored`` files of a folder are no images.
    """

    path: Path
    shape: tuple[int, ...]
    labels: OwnLabels
    blocks: Callable[[], Iterator[Items]]
    names: NDArray[np.bytes_] | None = None
    n_ignored: int = 0

    @property
    def is_images(self) -> bool:
        """Whether the items are images."""
        return len(self.shape) == 3

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.labels.labels)

    @property
    def size_bytes(self) -> int:
        """The bytes that the stored items and labels take."""
        width = self.labels.labels[0].nbytes
        return self.n_items * (math.prod(self.shape) * (1 if self.is_images else 4) + width)
