"""NUS-WIDE in the files of its authors: the list of its images, and a file of 0 and 1 for each concept or for all.

The labels are the ``n_classes`` most frequent concepts, the items the images with one [He et al. 2018, section 5.1].
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

import numpy as np

from hashbench.foundation.errors import HashbenchError
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.images import blocks
from hashbench.running.datasets.readers import Block, Files, Reader
from hashbench.running.datasets.readers.image_lists import label_rows, lines_of


def _read(card: Card, files: Files) -> Iterator[Block]:
    paths: list[bytes] = []
    columns = []
    for member, file in files.members:
        rows = lines_of(member.path, file)
        if PurePosixPath(member.path).stem.lower() == "imagelist":
            paths = [line.strip() for line in rows]
        else:  # Labels_<concept>.txt has one concept, AllLabels81.txt has all
            columns.append(label_rows(member.path, rows, max(len(rows[0].split()), 1)))
    if any(len(column) != len(paths) for column in columns):
        sizes = ", ".join(sorted({f"{len(column):,}" for column in columns}))
        raise HashbenchError(f"{card.name}: {len(paths):,} images are listed, but there are labels of {sizes}")
    concepts = np.hstack(columns)
    if concepts.shape[1] < card.n_classes:
        raise HashbenchError(f"{card.name}: {concepts.shape[1]} concepts; at least {card.n_classes} are expected")
    order = np.argsort(-concepts.sum(axis=0, dtype=np.int64), kind="stable")
    labels = concepts[:, order[: card.n_classes]]
    kept = np.flatnonzero(labels.any(axis=1))
    yield from blocks(card, files.images, [paths[row] for row in kept], labels[kept])


READER = Reader(_read)
