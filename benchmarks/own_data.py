"""Six small data sets as files of one's own: those on which the settings of the recipe `linear` were searched.

Run `python benchmarks/own_data.py FOLDER` after `hashbench download usps`, and the same of mnist and isolet; it prints
the command that adds each file and the command of the search. Each has 1,000 random items at most. Digits and wine are
scikit-learn's. Topics is made here: counts of words of documents on some of twenty topics, reduced to 64 numbers as
texts are (tf-idf and a truncated SVD).
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_wine, make_multilabel_classification
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from hashbench.datasets.card import load_card
from hashbench.datasets.store import open_dataset

N_ITEMS = 1000
METHODS = ("talr_ap", "mihash", "hashnet", "dpsh", "dtsh")
Arrays = tuple[NDArray[Any], NDArray[Any]]


def topics() -> Arrays:
    """Embeddings [1000, 64] of documents with several labels each, and the labels [1000, 20]."""
    counts, labels = make_multilabel_classification(
        N_ITEMS, n_features=500, n_classes=20, allow_unlabeled=False, random_state=0
    )
    return TruncatedSVD(64, random_state=0).fit_transform(TfidfTransformer().fit_transform(counts)), labels


def data_sets() -> Iterator[tuple[str, Arrays]]:
    """The name of each data set, and its items and labels."""
    yield "digits", load_digits(return_X_y=True)
    yield "wine", load_wine(return_X_y=True)
    for name in ("usps", "mnist", "isolet"):
        dataset = open_dataset(load_card(name))
        yield name, (np.asarray(dataset.items), np.asarray(dataset.labels))
    yield "topics", topics()


def main(folder: Path) -> None:
    """Writes the files and prints what to do with them."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for stem, (items, labels) in data_sets():
        chosen = np.sort(np.random.default_rng(0).permutation(len(items))[:N_ITEMS])
        names.append(f"own_{stem}")
        path = folder / f"{names[-1]}.npz"
        np.savez(path, items=items[chosen].reshape(len(chosen), -1).astype(np.float32), labels=labels[chosen])
        print(f"hashbench dataset add {names[-1]} {path}")
    print(f"hashbench tune {' '.join([*METHODS, *names])} --bits 32 --recipe linear --jobs 2")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
