"""The catalogue of readers: each module decodes one file format; here are the types and checks that they share."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.registry import Catalogue
from hashbench.learning.steps import LARGEST
from hashbench.running.datasets.card import Card, Member
from hashbench.scoring.relevance.labels import Labels

Items = NDArray[np.uint8] | NDArray[np.float32]


class Block(NamedTuple):
    """A block of items in the order of their ids; no ``items`` if only labels are read."""

    items: Items | None
    labels: Labels
    names: NDArray[np.bytes_] | None = None


@dataclass(frozen=True)
class Files:
    """The files that a reader decodes."""

    # in the card's order, each decompressed, verified and open at its first byte until the next one is asked for
    members: Iterable[tuple[Member, BinaryIO]]
    images: Path | None = None  # the folder with the images that lists name; None: only labels are read


@dataclass(frozen=True)
class Reader:
    """``read(card, files)`` yields blocks of items in the order of their ids; HashbenchError for another format."""

    read: Callable[[Card, Files], Iterator[Block]]


READERS = Catalogue("reader", "hashbench.running.datasets.readers", "READER", Reader, group="hashbench.readers")


def class_ids(card: Card, path: str, stated: NDArray[Any], first: int = 0) -> NDArray[np.int64]:
    """The class id of each row, int64[rows] from 0, counted from ``first`` in the file; HashbenchError for another."""
    ids = stated.astype(np.float64) - first
    wrong = np.flatnonzero(~((ids >= 0) & (ids < card.n_classes) & (ids == np.floor(ids))))
    if wrong.size:
        last = card.n_classes - 1 + first
        raise HashbenchError(f"{path}: row {wrong[0]} has label {stated[wrong[0]]:g}; {first} to {last} exist")
    return ids.astype(np.int64)


def after_labels(
    files: Files, read_labels: Callable[[str, BinaryIO], NDArray[np.int64]]
) -> Iterator[tuple[NDArray[np.int64], str, BinaryIO]]:
    """(labels, path of images, open file of images) where each file of labels comes before that of its images."""
    labels = None
    for member, file in files.members:
        if labels is None:
            labels = read_labels(member.path, file)
        else:
            yield labels, member.path, file
            labels = None


def as_float32(where: str, values: NDArray[Any]) -> NDArray[np.float32]:
    """The values as float32; raises HashbenchError if one is not finite or beyond ``LARGEST``."""
    with np.errstate(over="ignore"):
        features = values.astype(np.float32)
    lowest = features.min(initial=0)
    highest = features.max(initial=0)
    if not (lowest >= -LARGEST and highest <= LARGEST):  # NaN is in no range
        raise HashbenchError(f"{where}: a feature is not a finite number (NaN, inf, or beyond {LARGEST:g})")
    return features


def images_of_planes(card: Card, planes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The images [n, height, width, channels] whose planes, one for each channel, are the rows of ``planes``."""
    height, width, channels = card.item_shape
    return np.ascontiguousarray(planes.reshape(-1, channels, height, width).transpose(0, 2, 3, 1))


def text_table(path: str, file: BinaryIO, delimiter: str | None, n_columns: int) -> NDArray[np.float64]:
    """The numbers in a text file, float64[rows, n_columns]; raises HashbenchError if it has anything else."""
    with retold(lambda cause: f"{path}: damaged or truncated ({cause})", ValueError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of an empty file, which is an error below
        rows = np.loadtxt(file, delimiter=delimiter, ndmin=2, comments=None, encoding="ascii")
    if not rows.size or rows.shape[1] != n_columns:
        raise HashbenchError(f"{path}: {len(rows)} rows of {rows.shape[1]} numbers; rows of {n_columns} are expected")
    return rows


def text_features(path: str, values: NDArray[np.float64]) -> NDArray[np.float32]:
    """The values as float32; a zero of either sign becomes 0.0, so that two texts of one number give the same bytes."""
    return as_float32(path, values) + np.float32(0)
