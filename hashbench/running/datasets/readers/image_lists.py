"""Published lists of images, train, database and test: each line has a path and one-hot or multi-hot labels.

The ids number the train list, then what is only in the database list, then the test list, each sorted by base name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import PurePosixPath
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.images import blocks, printable_name
from hashbench.running.datasets.readers import Block, Files, Reader
from hashbench.scoring.relevance.labels import Labels

MOST_BYTES = 1 << 28  # the longest published list has 28 MB
ROLES = ("train", "database", "test")


@dataclass(frozen=True, eq=False)
class ImageList:
    """The paths of images, as the list has them, and their labels, uint8[n, n_labels] of 0 and 1."""

    paths: list[bytes]
    labels: NDArray[np.uint8]

    @property
    def names(self) -> list[bytes]:
        """The base names, which identify the images: published copies of a list differ in the folders."""
        return [path.replace(b"\\", b"/").rpartition(b"/")[2] for path in self.paths]

    def take(self, rows: Sequence[int]) -> "ImageList":
        """The images in these rows."""
        return ImageList([self.paths[row] for row in rows], self.labels[np.asarray(rows, np.int64)])


def _read(card: Card, files: Files) -> Iterator[Block]:
    lists: dict[str, list[ImageList]] = {role: [] for role in ROLES}
    for member, file in files.members:
        # a role may have several files: test0.txt, test1.txt ...
        role = re.fullmatch(r"(train|database|test)\d*", PurePosixPath(member.path).stem)
        if role is None:
            raise HashbenchError(f"{member.path}: a list is called train, database or test, perhaps with a number")
        lists[role[1]].append(read_list(member.path, file, card.n_classes))
    with retold(lambda fault: f"{card.name}: {fault}", HashbenchError):
        listed = merge_by_role({role: _joined(of_role) for role, of_role in lists.items()})
        labels: Labels = listed.labels
        if card.labels == "class":
            n_labels = listed.labels.sum(axis=1, dtype=np.int64)
            if (wrong := np.flatnonzero(n_labels != 1)).size:
                name = printable_name(listed.names[wrong[0]])
                raise HashbenchError(f"{name} has {n_labels[wrong[0]]} labels; one class is expected")
            labels = listed.labels.argmax(axis=1).astype(np.int64)
    yield from blocks(card, files.images, listed.paths, labels)


def lines_of(where: str, file: BinaryIO) -> list[bytes]:
    """The lines of a text file, without empty ones at its end; raises HashbenchError if it is empty or too long."""
    text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise HashbenchError(f"{where}: more than {MOST_BYTES >> 20} MiB: this is no list of images")
    lines = text.rstrip().splitlines()
    if not lines:
        raise HashbenchError(f"{where}: empty: a line for each image was expected")
    return lines


def read_list(where: str, file: BinaryIO, n_labels: int) -> ImageList:
    """The images of a list; raises HashbenchError unless each line has a path and ``n_labels`` labels, each 0 or 1."""
    split = [line.split(None, 1) for line in lines_of(where, file)]
    labels = label_rows(where, [b"".join(parts[1:]) for parts in split], n_labels)
    return ImageList([parts[0] for parts in split], labels)


def label_rows(where: str, rows: Iterable[bytes], n_labels: int) -> NDArray[np.uint8]:
    r"""The labels, uint8[n, n_labels]; raises HashbenchError unless each row has ``n_labels`` labels, each 0 or 1.

    >>> label_rows("list", [b"0 1 0", b"1 1  0\t"], 3).tolist()
    [[0, 1, 0], [1, 1, 0]]
    """
    digits_of_rows = []
    for number, row in enumerate(rows, 1):
        labels = row.split()
        digits = b"".join(labels)
        if not len(labels) == len(digits) == n_labels or digits.strip(b"01"):
            shown = printable_name(row)
            raise HashbenchError(f"{where}: line {number} has {shown}: {n_labels} labels, each 0 or 1, are expected")
        digits_of_rows.append(digits)
    return np.frombuffer(b"".join(digits_of_rows), np.uint8).reshape(-1, n_labels) - ord("0")


def _joined(lists: Sequence[ImageList]) -> ImageList:
    paths = list(chain.from_iterable(images.paths for images in lists))
    return ImageList(paths, np.concatenate([images.labels for images in lists]))


def merge_by_role(lists: Mapping[str, ImageList]) -> ImageList:
    """The training images, then others of the database, then the queries, by name; HashbenchError if lists clash."""
    sorted_lists = []
    for role in ROLES:
        names = lists[role].names
        order = sorted(range(len(names)), key=names.__getitem__)
        if twice := next((names[a] for a, b in pairwise(order) if names[a] == names[b]), None):
            raise HashbenchError(f"{printable_name(twice)} is twice in the {role} list")
        sorted_lists.append(lists[role].take(order))
    train, database, test = sorted_lists
    for role, other in (("train", train), ("database", database)):
        if shared := sorted(set(test.names).intersection(other.names)):
            raise HashbenchError(f"{printable_name(shared[0])} is in the test list and in the {role} list")
    rows = {name: row for row, name in enumerate(train.names)}
    only = []
    for row, name in enumerate(database.names):
        if name not in rows:
            only.append(row)
        elif (database.labels[row] != train.labels[rows[name]]).any():
            raise HashbenchError(f"{printable_name(name)} has other labels in the train list than in the database list")
    return _joined([train, database.take(only), test])


READER = Reader(_read)
