"""Published lists of images, train, database and test: each line has a path and one-hot or multi-hot labels.

The ids number the images of the train list, then images that are only in the database list, then the test list, whose
images are the queries. Each part is sorted by base name.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Card
from hashbench.datasets.images import blocks
from hashbench.datasets.lists import ROLES, ImageList, joined, merge_by_role, printable_name, read_list
from hashbench.datasets.readers._reader import Block, Files, Reader
from hashbench.foundation.errors import HashbenchError
from hashbench.relevance.labels import Labels


def _read(card: Card, files: Files) -> Iterator[Block]:
    lists: dict[str, list[ImageList]] = {role: [] for role in ROLES}
    for member, file in files.members:
        # a role may have several files: test0.txt, test1.txt ...
        role = re.fullmatch(r"(train|database|test)\d*", PurePosixPath(member.path).stem)
        if role is None:
            raise HashbenchError(f"{member.path}: a list is called train, database or test, perhaps with a number")
        lists[role[1]].append(read_list(member.path, file, card.n_classes))
    try:
        listed = merge_by_role({role: joined(of_role) for role, of_role in lists.items()})
        labels: Labels = _classes(listed) if card.labels == "class" else listed.labels
    except HashbenchError as error:
        raise HashbenchError(f"{card.name}: {error}") from None
    yield from blocks(card, files.images, listed.paths, labels)


def _classes(listed: ImageList) -> NDArray[np.int64]:
    n_labels = listed.labels.sum(axis=1, dtype=np.int64)
    if (wrong := np.flatnonzero(n_labels != 1)).size:
        raise HashbenchError(
            f"{printable_name(listed.names[wrong[0]])} has {n_labels[wrong[0]]} labels; one class is expected"
        )
    return listed.labels.argmax(axis=1).astype(np.int64)


READER = Reader(_read)
