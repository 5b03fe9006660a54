"""The interface of readers, which decode the files of data sets."""

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

    ``items`` are uint8[n, height, width, channels] or float32[n, d]; None if only labels are read. ``labels`` are class
    ids int64[n], or uint8[n, n_classes] of 0 and 1; without labels uint8[n, 0]. ``names`` are the file names of the
    items, bytes S[n], or None.
    """

    items: Items | None
    labels: Labels
    names: NDArray[np.bytes_] | None = None


@dataclass(frozen=True)
class Files:
    """The files that a reader decodes.

    ``members`` yields the files of the card in its order, each decompressed, verified and open at its first byte; it
    closes a file before it yields the next one. An embedded data set has none. ``images`` is the folder with the
    images that lists name; if it is None, only the labels are read.
    """

    members: Iterable[tuple[Member, BinaryIO]]
    images: Path | None = None


@dataclass(frozen=True)
class Reader:
    """The reader of a file format: ``read(card, files)`` yields blocks of items in the order of their ids.

    ``read`` raises HashbenchError if the bytes are not in the format.
    """

    read: Callable[[Card, Files], Iterator[Block]]
