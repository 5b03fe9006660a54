"""What a reader is."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Card, Member

Items = NDArray[np.uint8] | NDArray[np.float32]
Block = tuple[Items, NDArray[np.int64]]


@dataclass(frozen=True)
class Reader:
    """Decodes a format: ``read(card, members)`` yields blocks of (items, labels), in the order of the ids.

    ``members`` are the card's files in the card's order, each with its bytes, verified already and read
    only when asked for; an embedded set has none. Items are uint8[n, height, width, channels] or
    float32[n, d], labels int64[n]. Raises HashbenchError where the bytes are not what the format promises.
    """

    read: Callable[[Card, Iterable[tuple[Member, bytes]]], Iterator[Block]]
