"""What a reader is."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Card, Member
from hashbench.relevance.labels import Labels

Items = NDArray[np.uint8] | NDArray[np.float32]


class Block(NamedTuple):
    """Some items in the order of their ids.

    ``items`` are uint8[n, height, width, channels] or float32[n, d]; None where only labels are read. ``labels``
    are class ids int64[n], or 0 and 1, uint8[n, n_classes]; of a set without labels uint8[n, 0]. ``names`` are file
    names, bytes S[n], of a set that has them.
    """

    items: Items | None
    labels: Labels
    names: NDArray[np.bytes_] | None = None


@dataclass(frozen=True)
class Files:
    """What a reader decodes.

    ``members`` are the card's files in the card's order, each open at its first byte, decompressed and verified, and
    made ready only when asked for; a file is closed when the next is asked for. An embedded set has none.
    ``images`` is the folder that holds the images of a set made of lists; None reads the labels alone.
    """

    members: Iterable[tuple[Member, BinaryIO]]
    images: Path | None = None


@dataclass(frozen=True)
class Reader:
    """Decodes a format: ``read(card, files)`` yields blocks in the order of the ids.

    Raises HashbenchError where the bytes are not what the format promises.
    """

    read: Callable[[Card, Files], Iterator[Block]]
