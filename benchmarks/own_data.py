"""Six small data sets as files of one's own: those on which the settings of the recipe `linear` were searched.

Run `python benchmarks/own_data.py FOLDER` after `hashbench download usps`, and the same of mnist and isolet; it prints
the command that adds each file and the command of the search. Each has 1,000 random items at most. Digits and wine are
scikit-learn's. Topics is made here: counts of words of documents on some of twenty topics, reduced to 64 numbers as
texts are (tf-idf and a truncated SVD).

After the search, `python benchmarks/own_data.py FOLDER --compare` trains each method on each data set with the recipe's
settings and with the best of the first 24 trials there, and scores the queries of the data set, which no trial saw.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean, median
from typing import Any

import _record
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_wine, make_multilabel_classification
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

import hashbench
from hashbench.foundation.config import Setting
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.store import open_dataset
from hashbench.running.tuning.choice import choices
from hashbench.running.tuning.search import Search

N_ITEMS = 1000
SEEDS, TRIALS = 5, 24  # of the comparison
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


def means(method: str, dataset: str, searched: Mapping[str, Setting], folder: Path) -> list[float]:
    """The AP of the queries of the data set, of each seed."""
    given = Search.named("linear").question.given(method, dataset)
    runs = [hashbench.train(method, dataset, seed=n, results=folder, **{**given, **searched}) for n in range(SEEDS)]
    return [mean for run in runs if (mean := run.row.metrics["ap"].mean) is not None]


def compared(method: str, dataset: str, folder: Path) -> dict[str, float]:
    """The mean AP with the recipe's settings and with the best of the first trials on this data set alone."""
    search = Search.named("linear")
    tried = {n: [t for t in each if t.dataset == dataset] for n, each in search.of_method(method).items()}
    first = [each for n, each in tried.items() if n <= TRIALS]
    own = max(first, key=lambda each: median(trial.ap or 0.0 for trial in each))[0].searched
    chosen = next(each.searched for each in choices(search) if each.method == method)
    return {"recipe": fmean(means(method, dataset, chosen, folder)), "own": fmean(means(method, dataset, own, folder))}


def compare(folder: Path) -> None:
    """Prints the table of all methods and data sets as Markdown, and records it."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    datasets = list(Search.named("linear").question.left_out)
    print("| | " + " | ".join(datasets) + " |\n|---|" + "---:|" * len(datasets))
    for method in METHODS:
        found[method] = {dataset: compared(method, dataset, folder) for dataset in datasets}
        cells = [f"{each['recipe']:.3f} ({each['own']:.3f})" for each in found[method].values()]
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)
    _record.write("own-data", {"seeds": SEEDS, "trials": TRIALS, "ap": found})


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
    if sys.argv[1:]:
        (compare if "--compare" in sys.argv else main)(Path(sys.argv[1]))
    else:  # as `make bench` calls it, which has no data
        print(__doc__)
