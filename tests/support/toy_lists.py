"""A data set of lists of image names in a folder, with a card and tiny images; nothing of it is random."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image
from support.toy_root import write_card

SHAPE = (4, 6, 3)
CARD = """
title = "Lists"
citation = "none"
licence = "none"
homepage = "none"
kind = "images"
item_shape = [4, 6, 3]
value_max = 255
n_items = {n_items}
n_classes = 3
labels = "{labels}"
class_names = ["n01", "n02", "n03"]
reader = "image_lists"
{sources}
[[sources]]
file = "pictures.tar.gz"
manual = ["ask the authors", "wait"]
note = "made anew by each test"
images = true

[protocols.published]
title = "as the lists say"
citation = "none"
draw = "parts"
train = [0, 2]
database = [0, 5]
query = [5, 7]
n_queries = 2
n_database = 5
n_train = 2
"""
SOURCE = """
[[sources]]
{where}
file = "{name}.txt"
note = "made anew by each test"

[[sources.members]]
path = "lists/lists/{name}.txt"
note = "made anew by each test"
"""
ROWS = {  # a one-hot class each; the lists are not in the order of the names
    "train": {"n03_7.JPEG": "0 0 1", "n01_5.JPEG": "1 0 0"},
    "database": {"n02_3.JPEG": "0 1 0", "n03_7.JPEG": "0 0 1", "n02_1.JPEG": "0 1 0", "n01_5.JPEG": "1 0 0"}
    | {"n01_4.JPEG": "1 0 0"},
    "test": {"val_2.JPEG": "0 0 1", "val_1.JPEG": "0 1 0"},
}
ORDER = ["n01_5.JPEG", "n03_7.JPEG", "n01_4.JPEG", "n02_1.JPEG", "n02_3.JPEG", "val_1.JPEG", "val_2.JPEG"]
CLASSES = [0, 2, 0, 1, 1, 1, 2]


def pixels(row: int) -> np.ndarray:
    """The image of an id, of the shape that is stored: resizing leaves it as it is."""
    return ((np.arange(np.prod(SHAPE)) * (row + 3) + 11 * row) % 256).astype(np.uint8).reshape(SHAPE)


def write_image(path: Path, image: np.ndarray) -> None:
    """A PNG, whatever the name ends with: no value is lost."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path, format="PNG")


@dataclass
class Lists:
    """The lists' lines by file, and the folder that HASHBENCH_ROOT names."""

    root: Path
    lines: dict[str, list[str]] = field(default_factory=dict)

    def write_card(self, labels: str = "class", urls: bool = False) -> None:
        where = 'urls = ["http://127.0.0.1:9/none"]' if urls else 'manual = ["make it"]'
        sources = "".join(SOURCE.format(name=name, where=where) for name in self.lines)
        write_card(self.root, "lists", CARD.format(labels=labels, n_items=7, sources=sources))

    def write(self, folder: Path) -> Path:
        """The lists, written into ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in self.lines.items():
            (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
        return folder

    def write_images(self, folder: Path, layout: str = "{name}") -> Path:
        """The images of all ids; ``layout`` makes a path of ``name`` and ``group``, the class's."""
        for row, name in enumerate(ORDER):
            write_image(folder / layout.format(name=name, group=f"n0{CLASSES[row] + 1}"), pixels(row))
        return folder


def make_lists(root: Path, before: str = "") -> Lists:
    """The toy with ``before`` in front of each name."""
    lines = {role: [f"{before}{name} {labels}" for name, labels in rows.items()] for role, rows in ROWS.items()}
    lists = Lists(root, lines)
    lists.write_card()
    return lists
