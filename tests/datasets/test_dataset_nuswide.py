"""NUS-WIDE in its official layout, small: the most frequent concepts, the images that carry one of them."""

from collections import Counter

import numpy as np
import pytest
from support.toy_root import write_card

from hashbench.running.datasets import store
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.download import download

CONCEPTS = ["airport", "animal", "beach", "bear", "birds"]
CARD = """
title = "NUS"
citation = "none"
licence = "none"
homepage = "none"
kind = "images"
item_shape = [4, 6, 3]
value_max = 255
n_items = {n_items}
n_classes = {n_classes}
labels = "multi"
reader = "nuswide"

[[sources]]
manual = ["ask"]
file = "NUS-WIDE.zip"
note = "made anew by each test"
{members}
[[sources]]
manual = ["ask"]
file = "images.zip"
note = "made anew by each test"
images = true

[protocols.s1]
title = "as nuswide21"
citation = "none"
draw = "per_label"
queries_per_label = 2
train_per_label = 3
"""
MEMBER = """
[[sources.members]]
path = "{path}"
note = "made anew by each test"
"""


class Nus:
    """60 images; the concepts are carried with a chance of 1/10 to 5/10, ``beach`` most often."""

    def __init__(self, root):
        self.root = root
        rng = np.random.default_rng(3)
        self.labels = (rng.random((60, 5)) < np.array([0.1, 0.4, 0.5, 0.2, 0.3])).astype(int)
        self.names = [f"{i % 7}_{1000 + i}.jpg" for i in range(60)]
        self.lines = [f"C:\\ImageData\\Flickr\\{CONCEPTS[i % 5]}\\{name}" for i, name in enumerate(self.names)]

    def expected(self, n_classes):
        """(rows kept, labels): by counting one image after another."""
        count = Counter({concept: int(self.labels[:, concept].sum()) for concept in range(5)})
        chosen = [concept for concept, _ in count.most_common(n_classes)]
        kept = [row for row in range(60) if any(self.labels[row, concept] for concept in chosen)]
        return kept, [[int(self.labels[row, concept]) for concept in chosen] for row in kept]

    def write_card(self, n_classes, paths):
        members = "".join(MEMBER.format(path=member) for member in paths)
        n_items = len(self.expected(n_classes)[0])
        write_card(self.root, "nus", CARD.format(n_items=n_items, n_classes=n_classes, members=members))

    def write(self, folder):
        """The list and the labels, all in one file and a file a concept."""
        folder.mkdir(exist_ok=True)
        (folder / "Imagelist.txt").write_text("".join(f"{line} \r\n" for line in self.lines))
        rows = [" ".join(map(str, row)) + " \n" for row in self.labels]
        (folder / "AllLabels81.txt").write_text("".join(rows))
        for concept, column in zip(CONCEPTS, self.labels.T, strict=True):
            (folder / f"Labels_{concept}.txt").write_text("".join(f"{value}\n" for value in column))
        return folder


TOGETHER = ["ImageList/Imagelist.txt", "AllLabels/AllLabels81.txt"]
APART = ["ImageList/Imagelist.txt", *(f"AllLabels/Labels_{concept}.txt" for concept in CONCEPTS)]


@pytest.fixture
def nus(tmp_path, monkeypatch):
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    return Nus(tmp_path / "root")


@pytest.mark.parametrize("paths", [TOGETHER, APART], ids=["together", "apart"])
@pytest.mark.parametrize("n_classes", [1, 3])
def test_the_most_frequent_concepts_and_the_images_that_carry_one(nus, tmp_path, n_classes, paths):
    nus.write_card(n_classes, paths)
    download(load_card("nus"), nus.write(tmp_path / "given"), labels_only=True)
    kept, labels = nus.expected(n_classes)
    stored = store.open_labels(load_card("nus"))
    assert stored.labels.tolist() == labels
    assert [name.decode() for name in stored.names] == [nus.names[row] for row in kept]
    assert (np.diff(stored.labels.sum(axis=0, dtype=int)) <= 0).all()


def one_line_short(nus, folder):
    (folder / "Imagelist.txt").write_text("\n".join(nus.lines[:-1]))


def few(nus, folder):
    (folder / "AllLabels81.txt").write_text("0 1\n" * len(nus.lines))


FAULTS = {
    one_line_short: "nus: 59 images are listed, but there are labels of 60",
    few: "nus: 2 concepts; at least 3 are expected",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_lists_that_do_not_fit_are_refused(nus, tmp_path, refused, fault):
    nus.write_card(3, TOGETHER)
    folder = nus.write(tmp_path / "given")
    fault(nus, folder)
    refused("nus", FAULTS[fault], folder, labels_only=True)
