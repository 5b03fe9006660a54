"""A data set of any items and labels, written into the store with a card of its own."""

import os
from pathlib import Path

import numpy as np
from support.toy_root import REPOSITORY, write_card

from hashbench.foundation import paths
from hashbench.running.datasets import store
from hashbench.running.datasets.card import Card, load_card
from hashbench.running.datasets.readers import Block

CARD = """
title = "Toy"
citation = "none"
licence = "none"
homepage = "none"
kind = "{kind}"
item_shape = {shape}
{value_max}
n_items = {n}
n_classes = {n_classes}
labels = "{labels}"
reader = "digits"

[[sources]]
urls = []
manual = ["ask its authors for toy.bin"]
file = "toy.bin"
note = "made by the tests"

[[sources.members]]
path = "toy.bin"
note = "made by the tests"
"""


def parts(n_queries: int, n_train: int, n: int) -> str:
    """The protocol s1 whose first items are queries; the others are the database, and the first of those trained on."""
    return f"""
[protocols.s1]
draw = "parts"
title = "{n_queries} queries"
citation = "none"
query = [0, {n_queries}]
database = [{n_queries}, {n}]
train = [{n_queries}, {n_queries + n_train}]
"""


def small_images(root: Path) -> Card:
    """150 random images of three classes, which a process reads in a moment: the digits need scikit-learn."""
    items = np.random.default_rng(0).integers(0, 256, (150, 8, 8, 1)).astype(np.uint8)
    return store_toy(root, items, np.arange(150) % 3, parts(30, 90, 150))


def bright_images(root: Path) -> np.ndarray:
    """150 images whose class is their brightness, so that a classifier learns it in a moment; they are stored."""
    labels = np.arange(150) % 3
    noise = np.random.default_rng(0).integers(0, 60, (150, 8, 8, 3))
    items = (noise + labels[:, None, None, None] * 90).astype(np.uint8)
    store_toy(root, items, labels, parts(30, 120, 150))
    return items


def card_of(root: Path, items: np.ndarray, labels: np.ndarray, protocols: str, name: str = "toy") -> Card:
    """The card of such a data set, in ``root``, which holds the methods of the repository too."""
    root.mkdir(parents=True, exist_ok=True)
    if not (root / "experiments").exists():
        (root / "experiments").symlink_to(REPOSITORY / "experiments")
    kind = "features"
    value_max = ""
    if items.ndim == 4:
        kind = "images"
        value_max = "value_max = 255"
    n_classes = int(labels.max(initial=0)) + 1
    kind_of_labels = "class"
    if labels.ndim == 2:
        n_classes = labels.shape[1]
        kind_of_labels = "multi" if n_classes else "none"
    text = CARD.format(
        kind=kind,
        value_max=value_max,
        shape=list(items.shape[1:]),
        n=len(items),
        n_classes=n_classes,
        labels=kind_of_labels,
    )
    write_card(root, name, text + protocols)
    os.environ["HASHBENCH_ROOT"] = str(root)  # tests/conftest.py puts it back
    paths.read_again()
    return load_card(name)


def store_toy(
    root: Path,
    items: np.ndarray,
    labels: np.ndarray,
    protocols: str,
    *,
    names: np.ndarray | None = None,
    labels_only: bool = False,
) -> Card:
    """The card of a data set that is now stored."""
    card = card_of(root, items, labels, protocols)
    store.write(card, [Block(None if labels_only else items, labels, names)], {}, labels_only=labels_only)
    return card
