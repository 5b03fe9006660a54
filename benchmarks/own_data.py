"""Six small data sets as files of one's own: those on which the rates of the recipe `linear` were searched.

Run `python benchmarks/own_data.py FOLDER` after `hashbench download usps`, and the same of mnist and isolet; it prints
the command that adds each file and the command of the search. Of USPS, MNIST and ISOLET it takes 2,500 random items,
digits and wine are scikit-learn's, and topics is made here: counts of words of documents on some of twenty topics,
reduced to 64 numbers as texts are (tf-idf and a truncated SVD).
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_wine, make_multilabel_classification
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from hashbench.datasets.card import load_card
from hashbench.datasets.store import open_dataset

N_ITEMS = 2500
METHODS = ("talr_ap", "mihash", "hashnet", "dpsh", "dtsh", "talr_ndcg")
Arrays = tuple[NDArray[np.float32], NDArray[np.int64]]


def drawn(name: str) -> Arrays:
    """Items [2500, d] of a data set that has been downloaded, drawn by a fixed seed, and their classes."""
    dataset = open_dataset(load_card(name))
    chosen = np.sort(np.random.default_rng(0).choice(len(dataset.items), N_ITEMS, replace=False))
    items = np.asarray(dataset.items[chosen], np.float32).reshape(N_ITEMS, -1)
    return items, np.asarray(dataset.labels)[chosen].astype(np.int64)


def topics() -> Arrays:
    """Embeddings [2500, 64] of documents with several labels each, and the labels [2500, 20]."""
    counts, labels = make_multilabel_classification(
        N_ITEMS, n_features=500, n_classes=20, allow_unlabeled=False, random_state=0
    )
    embedded = TruncatedSVD(64, random_state=0).fit_transform(TfidfTransformer().fit_transform(counts))
    return embedded.astype(np.float32), labels.astype(np.int64)


def data_sets() -> Iterator[tuple[str, Arrays]]:
    """The name of each data set and its arrays."""
    for name, read in (("digits", load_digits), ("wine", load_wine)):
        items, labels = read(return_X_y=True)
        yield name, (items.astype(np.float32), labels)
    yield from ((name, drawn(name)) for name in ("usps", "mnist", "isolet"))
    yield "topics", topics()


def main(folder: Path) -> None:
    """Writes the files and prints what to do with them."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for stem, (items, labels) in data_sets():
        names.append(f"own_{stem}")
        path = folder / f"{names[-1]}.npz"
        np.savez(path, items=items, labels=labels)
        print(f"hashbench dataset add {names[-1]} {path}")
    print(f"hashbench tune {' '.join([*METHODS, *names])} --bits 32 --recipe linear --jobs 2")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
