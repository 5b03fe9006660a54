"""22K LabelMe: the variable ``gist`` of a MATLAB file, with 512 GIST features for each image."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from hashbench.codes.files import arrays_in
from hashbench.datasets.card import Card
from hashbench.datasets.readers._reader import Block, Files, Reader
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError, printable, unknown
from hashbench.foundation.files import part_prefix

VARIABLE = "gist"


def _read(card: Card, files: Files) -> Iterator[Block]:
    for _, file in files.members:
        with _on_disk(file, paths.data() / card.name) as path:
            yield _features(card, path)


@contextmanager
def _on_disk(file: BinaryIO, folder: Path) -> Iterator[Path]:
    """The path of the file, or of a copy in ``folder`` if it is a member of an archive and has no path."""
    if not isinstance(file.name, int):
        yield Path(file.name)
        return
    with tempfile.NamedTemporaryFile(dir=folder, prefix=part_prefix("gist"), suffix=".part") as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        yield Path(copy.name)


def _features(card: Card, path: Path) -> Block:
    """The features; the other variables, such as a distance matrix of 4 GB, are not read."""
    arrays = arrays_in(path)
    if VARIABLE not in arrays:
        raise HashbenchError(f"{path}: {unknown('variable', VARIABLE, map(printable, arrays))}")
    stored = arrays[VARIABLE]()
    expected = (card.n_items, *card.item_shape)
    if stored.shape != expected:
        raise HashbenchError(f"{stored.where}: shape {stored.shape}; {expected} is expected")
    return Block(stored.whole(np.float32), np.zeros((card.n_items, 0), np.uint8))


READER = Reader(_read)
