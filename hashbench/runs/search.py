"""A protocol, searched by buckets: the sparse codes of its database and queries, made block by block, and scored."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from hashbench import histogram, metrics
from hashbench.datasets.draw import Ids
from hashbench.datasets.split import Split
from hashbench.datasets.store import Dataset
from hashbench.files import atomic
from hashbench.hasher import SparseHasher
from hashbench.histogram import Histogram
from hashbench.metrics import MetricValue
from hashbench.relevance.labels import Labels, from_labels
from hashbench.runs.score import OF_RETRIEVAL, Scores, means
from hashbench.sparse.codes import SparseCodes, top_k
from hashbench.sparse.evaluate import as_hamming, evaluate
from hashbench.sparse.retrieval import Retrieval

BLOCK = 10_000  # items held at a time, as the data set stores them

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Searched:
    """A set of items and the queries that search it: labels, embeddings, and where there are buckets, what says them.

    ``codes`` are the items', ``activations`` [q, d] and ``own`` codes the queries'.
    """

    labels: Labels
    embeddings: Floats
    query_labels: Labels
    query_embeddings: Floats
    itself: bool  # the queries are the items
    codes: SparseCodes | None = None
    activations: NDArray[np.floating] | None = None
    own: SparseCodes | None = None

    def retrieval(self, *, progress: bool = False) -> Retrieval:
        """What the queries find."""
        items = self.codes, self.embeddings, self.labels
        queries = self.activations, self.query_embeddings, self.query_labels
        return evaluate(*items, *queries, itself=self.itself, progress=progress)

    def histogram(self) -> Histogram | None:
        """That of the codes as Hamming codes, which puts sparse codes beside those of bits; None without buckets."""
        if self.codes is None or self.own is None:
            return None
        relevance = from_labels(self.query_labels, self.labels)
        counted = histogram.count(as_hamming(self.own), as_hamming(self.codes), relevance)
        return histogram.without_itself(counted, relevance) if self.itself else counted


def score_retrieval(
    hasher: SparseHasher, dataset: Dataset, ids: Split, folder: Path, *, progress: bool = False
) -> Scores:
    """The scores of the queries among the database, and among each other with themselves left out.

    Kept in ``folder``: codes.npz (buckets of the database and activations of the queries), retrieval.npz,
    retrieval_of_test.npz and, where there are buckets, histogram.npz.
    """
    started = time.perf_counter()
    queries = dataset.items[ids.query_ids]
    with tqdm(total=2 * len(ids.database_ids), **_bar(progress=progress)) as bar:
        embedded = _embed(hasher, _blocks(dataset.items, ids.database_ids), bar), hasher.embed(queries)
        labels = dataset.labels[ids.database_ids], dataset.labels[ids.query_ids]
        found = Searched(labels[0], embedded[0], labels[1], embedded[1], itself=False)
        of_test = Searched(labels[1], embedded[1], labels[1], embedded[1], itself=True)
        if hasher.k:
            found = _coded(hasher, found, _blocks(dataset.items, ids.database_ids), queries, bar)
            of_test = _coded(hasher, of_test, iter([queries]), queries, bar)
    _save_codes(folder / "codes.npz", found)
    encode_s = time.perf_counter() - started
    return _scores(found, of_test, folder, encode_s, progress=progress)


def save_views(
    path: Path, hasher: SparseHasher, items: NDArray[Any], ids: Ids, names: Sequence[str] | None = None
) -> None:
    """Writes embeddings and, where there are buckets, activations of the ``items`` that ``ids`` say; ``names`` too.

    What ``hashbench index`` takes, whole or not at all. Where the buckets are those of what is searched, they are of
    these items.
    """
    with tqdm(total=(2 if hasher.k else 1) * len(ids), **_bar(progress=True)) as bar:
        embeddings = _embed(hasher, _blocks(items, ids), bar)
        arrays: dict[str, Any] = {"embeddings": embeddings} | ({} if names is None else {"names": np.array(names)})
        if hasher.k:
            asked = hasher.searching(embeddings)
            arrays["activations"] = np.concatenate(list(_activate(asked, _blocks(items, ids), embeddings, bar)))
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _embed(hasher: SparseHasher, blocks: Iterator[NDArray[Any]], bar: "tqdm[None]") -> Floats:
    embeddings = []
    for items in blocks:
        embeddings.append(hasher.embed(items))
        bar.update(len(items))
    return np.concatenate(embeddings)


def _activate(
    hasher: SparseHasher, blocks: Iterator[NDArray[Any]], embeddings: Floats, bar: "tqdm[None]"
) -> Iterator[NDArray[np.floating]]:
    """The activations of items that come in ``blocks``, and of which all the ``embeddings`` are known, by block."""
    first = 0
    for items in blocks:
        yield hasher.activate(items, embeddings[first : first + len(items)])
        first += len(items)
        bar.update(len(items))


def _coded(
    hasher: SparseHasher, found: Searched, blocks: Iterator[NDArray[Any]], queries: NDArray[Any], bar: "tqdm[None]"
) -> Searched:
    """``found`` with the codes of its items, which come in ``blocks``, and of the queries."""
    asked = hasher.searching(found.embeddings)
    parts = [top_k(activations, asked.k) for activations in _activate(asked, blocks, found.embeddings, bar)]
    codes = SparseCodes(np.concatenate([part.buckets for part in parts]), parts[0].d)
    activations = asked.activate(queries, found.query_embeddings)
    return replace(found, codes=codes, activations=activations, own=top_k(activations, asked.k))


def _blocks(items: NDArray[Any], ids: Ids) -> Iterator[NDArray[Any]]:
    for first in range(0, len(ids), BLOCK):
        yield items[ids[first : first + BLOCK]]


def _bar(*, progress: bool) -> dict[str, Any]:
    return {"desc": "encode", "unit": "item", "disable": None if progress else True, "leave": False, "delay": 2}


def _save_codes(path: Path, found: Searched) -> None:
    if found.codes is None or found.activations is None:
        return
    codes = found.codes
    arrays: dict[str, Any] = {"buckets": codes.buckets, "d": codes.d, "query_activations": found.activations}
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _scores(found: Searched, of_test: Searched, folder: Path, encode_s: float, *, progress: bool) -> Scores:
    database, counted = _kept(found, folder / "retrieval.npz", progress=progress), found.histogram()
    test, counted_of_test = _kept(of_test, folder / "retrieval_of_test.npz", progress=progress), of_test.histogram()
    if counted is not None:
        counted.save(folder / "histogram.npz")
    return Scores(
        metrics=_values(database, counted),
        encode_s=encode_s,
        histogram_sha256=None if counted is None else counted.sha256(),
        of_test=_values(test, counted_of_test),
        retrieval_sha256=database.sha256(),
        retrieval_of_test_sha256=test.sha256(),
    )


def _kept(found: Searched, path: Path, *, progress: bool) -> Retrieval:
    retrieval = found.retrieval(progress=progress)
    retrieval.save(path)
    return retrieval


def _values(retrieval: Retrieval, counted: Histogram | None) -> dict[str, MetricValue]:
    names = [*OF_RETRIEVAL, *(["nmi"] if retrieval.contingency is not None else [])]
    return metrics.evaluate_retrieval(retrieval, names) | ({} if counted is None else means(counted))
