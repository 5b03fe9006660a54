"""A data set of a few tiny images in CIFAR-10's binary layout, with a card that states its checksums."""

import hashlib
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from support.toy_root import write_card

SHAPE = (2, 3, 3)  # height and width differ, so that a transposed image is noticed
N_CLASSES = 3
CARD = """
title = "Toy"
citation = "none"
licence = "none"
homepage = "none"
kind = "images"
item_shape = [2, 3, 3]
value_max = 255
n_items = 24
n_classes = 3
class_counts = [8, 8, 8]
reader = "cifar10_binary"

[[sources]]
urls = ["{url}"]
file = "toy.tar.gz"
{archive_checksum}
{members}
[protocols.s1]
title = "2 queries and 3 training images a class"
queries_per_class = 2
train_per_class = 3
citation = "none"
"""
MEMBER = """
[[sources.members]]
path = "toy-bin/{name}"
size_bytes = {size}
md5 = "{md5}"
"""


@dataclass
class Toy:
    """The toy's images and labels, its files by name, and the folder that HASHBENCH_ROOT names."""

    root: Path
    images: np.ndarray
    labels: np.ndarray
    files: dict[str, bytes]

    @property
    def card(self) -> Path:
        return self.root / "datasets" / "toy.toml"

    def edit(self, old: str, new: str) -> None:
        """Changes the card."""
        text = self.card.read_text()
        assert old in text
        self.card.write_text(text.replace(old, new))

    def write_files(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in self.files.items():
            (folder / name).write_bytes(data)
        return folder

    def archive(self) -> bytes:
        """A .tar.gz of the files in another order than the card's, with one that nobody asked for."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            for name, data in [*reversed(self.files.items()), ("readme.html", b"hello")]:
                info = tarfile.TarInfo(f"toy-bin/{name}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return buffer.getvalue()


def make_toy(root: Path, archive_checksum: str = 'note = "made anew by each test"', url: str = "http://none") -> Toy:
    """A toy data set whose card lies in ``root``."""
    rng = np.random.default_rng(7)
    images = rng.integers(0, 256, (24, *SHAPE), np.uint8)
    labels = np.arange(24) % N_CLASSES
    rows = np.concatenate([labels[:, None].astype(np.uint8), images.transpose(0, 3, 1, 2).reshape(24, -1)], axis=1)
    files = {"one.bin": rows[:10].tobytes(), "two.bin": rows[10:].tobytes()}
    members = "".join(
        MEMBER.format(name=name, size=len(data), md5=hashlib.md5(data).hexdigest()) for name, data in files.items()
    )
    write_card(root, "toy", CARD.format(url=url, archive_checksum=archive_checksum, members=members))
    return Toy(root, images, labels, files)
