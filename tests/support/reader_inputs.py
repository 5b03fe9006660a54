"""What a reader is given: a card made up for the test, and files with the bytes that the test wants."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.foundation.config import parse
from hashbench.foundation.errors import HashbenchError
from hashbench.running.datasets.card import Card, Member
from hashbench.running.datasets.readers import READERS, Files

SOURCE = {"urls": ["http://none"], "file": "x", "note": "made up", "members": [{"path": "x", "note": "made up"}]}


def card(reader: str, item_shape: list[int], n_items: int, n_classes: int, **keys: Any) -> Card:
    """Images where the shape has three axes, else features; no labels where there are no classes."""
    images = len(item_shape) == 3
    values = {
        **{"name": "made_up", "title": "", "citation": "", "licence": "", "homepage": "", "sources": [SOURCE]},
        **{"reader": reader, "item_shape": item_shape, "n_items": n_items, "n_classes": n_classes},
        "kind": "images" if images else "features",
        "labels": "class" if n_classes else "none",
    }
    return parse(Card, {**values, **({"value_max": 255} if images else {}), **keys}, "made up")


def read(of: Card, folder: Path, files: Mapping[str, bytes]) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Items, labels and the sizes of the blocks that the card's reader makes of the files, in their order."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    with ExitStack() as stack:
        opened = [
            (Member(path=name, note="made up"), stack.enter_context((folder / name).open("rb"))) for name in files
        ]
        blocks = list(READERS.get(of.reader).read(of, Files(opened)))
    items = np.concatenate([block.items for block in blocks if block.items is not None])
    return items, np.concatenate([block.labels for block in blocks]), [len(block.labels) for block in blocks]


def refusal(of: Card, folder: Path, files: Mapping[str, bytes]) -> str:
    """The one line with which the reader refuses the files."""
    try:
        read(of, folder, files)
    except HashbenchError as error:
        return str(error)
    raise AssertionError("not refused")
