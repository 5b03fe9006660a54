"""The handwritten digits that are part of scikit-learn."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block, Files, Reader


def _read(card: Card, files: Files) -> Iterator[Block]:  # noqa: ARG001  (it has none: embedded)
    # the file of sklearn.datasets.load_digits, without the import, which takes longer than most runs on these digits
    spec = find_spec("sklearn")
    assert spec is not None and spec.origin is not None
    rows = np.loadtxt(Path(spec.origin).parent / "datasets" / "data" / "digits.csv.gz", np.uint8, delimiter=",")
    yield Block(rows[:, :-1].reshape(len(rows), *card.item_shape), rows[:, -1].astype(np.int64))


READER = Reader(_read)
