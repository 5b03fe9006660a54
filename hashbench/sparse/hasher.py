"""Hashers of k-sparse codes: items stand in buckets, and those of a bucket are put in order by their embeddings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hashbench import histogram
from hashbench.errors import HashbenchError
from hashbench.files import atomic
from hashbench.hasher import CODES, Counts, Evidence, ItemRows
from hashbench.histogram import Histogram
from hashbench.progress import bar as progress_bar
from hashbench.relevance.labels import Labels, Relevance, from_labels
from hashbench.sparse.codes import SparseCodes, top_k
from hashbench.sparse.evaluate import as_hamming, evaluate

if TYPE_CHECKING:
    from pathlib import Path

    from tqdm import tqdm

    from hashbench.hasher import SearchItems
    from hashbench.sparse.retrieval import Retrieval
    from hashbench.training.hasher import DeepHasher

Floats = NDArray[np.float32]


class SparseHasher(ABC):
    """What puts items into ``k`` buckets each; with k = 0 there are no buckets, and a query looks at every item."""

    k: int

    @abstractmethod
    def embed(self, items: NDArray[Any]) -> Floats:
        """Embeddings float32[n, m] of ``items`` (as the data set stores them)."""

    def searching(self, embeddings: Floats) -> SparseHasher:  # noqa: ARG002
        """The hasher for a search among the items of these embeddings [n, m]; most do not look at them."""
        return self

    @abstractmethod
    def activate(self, items: NDArray[Any], embeddings: Floats) -> NDArray[np.floating]:
        """Activations float[n, d] of ``items``, which have these ``embeddings``; the k largest are the buckets."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Writes into ``folder``, whole or not at all, what the base's own run does not hold."""

    def output(self, data: SearchItems, *, progress: bool = False) -> SparseOutput:
        """The buckets and embeddings of a protocol's queries and database."""
        queries = data.queries.whole()
        with progress_bar("encode", "item", 2 * len(data.database), shown=progress) as bar:
            embeddings, query_embeddings = self._embed_rows(data.database, bar), self.embed(queries)
            items, asking = (_labels(rows) for rows in (data.database, data.queries))
            among_items = SearchedSet(items, embeddings, asking, query_embeddings, itself=False)
            among_queries = SearchedSet(asking, query_embeddings, asking, query_embeddings, itself=True)
            if self.k:
                among_items = self._coded(among_items, data.database, queries, bar)
                among_queries = self._coded(among_queries, data.queries, queries, bar)
        return SparseOutput(among_items, among_queries)

    def _coded(self, searched: SearchedSet, rows: ItemRows, queries: NDArray[Any], bar: tqdm[None]) -> SearchedSet:
        """``searched`` with the codes of its items, which are ``rows``, and of the queries."""
        hasher = self.searching(searched.embeddings)
        parts = [top_k(activations, self.k) for activations in _activate(hasher, rows, searched.embeddings, bar)]
        codes = SparseCodes(np.concatenate([part.buckets for part in parts]), parts[0].d)
        activations = hasher.activate(queries, searched.query_embeddings)
        return replace(searched, codes=codes, activations=activations, own=top_k(activations, self.k))

    def _embed_rows(self, rows: ItemRows, bar: tqdm[None]) -> Floats:
        embeddings = []
        for items in rows.blocks():
            embeddings.append(self.embed(items))
            bar.update(len(items))
        return np.concatenate(embeddings)

    def export(self, data: SearchItems, path: Path) -> list[Path]:
        """Writes what ``hashbench index`` takes: of the database to ``path``, of the queries to a file beside it."""
        beside = path.with_name(f"{path.stem}-queries{path.suffix}")
        for file, rows in ((path, data.database), (beside, data.queries)):
            self._export(rows, file, {})
        return [path, beside]

    def export_items(self, rows: ItemRows, names: Sequence[str], path: Path) -> None:
        """Writes the same of one's own items, and their ``names``."""
        self._export(rows, path, {"names": np.array(names)})

    def _export(self, rows: ItemRows, path: Path, more: dict[str, Any]) -> None:
        """Writes embeddings and, where there are buckets, activations; whole or not at all.

        Where the buckets depend on what is searched, they are those of a search among these very items.
        """
        with progress_bar("encode", "item", (2 if self.k else 1) * len(rows)) as bar:
            arrays = {"embeddings": self._embed_rows(rows, bar)} | more
            if self.k:
                hasher = self.searching(arrays["embeddings"])
                arrays["activations"] = np.concatenate(list(_activate(hasher, rows, arrays["embeddings"], bar)))
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)

    def nearest(self, queries: NDArray[Any], folder: Path, top: int) -> NoReturn:  # noqa: ARG002
        """Raises HashbenchError: a run keeps the buckets of its database and not the embeddings that order them."""
        raise HashbenchError(
            f"{folder.name}: its codes are sparse: hashbench encode writes what hashbench index searches"
        )


@dataclass(frozen=True)
class ExhaustiveSearch(SparseHasher):
    """A metric network, without any buckets."""

    network: DeepHasher
    k: int = 0

    def embed(self, items: NDArray[Any]) -> Floats:
        """Embeddings float32[n, d], as the last layer gives them: not normalised."""
        return self.network.encode(items)

    def activate(self, items: NDArray[Any], embeddings: Floats) -> Floats:  # noqa: ARG002
        """Nothing: there are no buckets."""
        return np.empty((len(items), 0), np.float32)

    def save(self, folder: Path) -> None:
        """Writes the network."""
        self.network.save(folder)


@dataclass(frozen=True)
class OnBase(SparseHasher):
    """What puts items into k buckets and leaves their embeddings to the ``base``, whatever set is searched."""

    base: SparseHasher
    k: int

    def embed(self, items: NDArray[Any]) -> Floats:
        """The base's embeddings."""
        return self.base.embed(items)


@dataclass(frozen=True, eq=False)
class SearchedSet:
    """A set of items and the queries that search it: labels, embeddings and, where there are buckets, the codes.

    ``codes`` are the items', ``activations`` [q, d] and ``own`` codes the queries'. With ``itself`` the queries are the
    items.
    """

    labels: Labels
    embeddings: Floats
    query_labels: Labels
    query_embeddings: Floats
    itself: bool
    codes: SparseCodes | None = None
    activations: NDArray[np.floating] | None = None
    own: SparseCodes | None = None

    def counts(self, *, progress: bool) -> Mapping[str, Counts]:
        """The retrieval, and the histogram where there are buckets."""
        found: dict[str, Counts] = {"retrieval": self.retrieval(progress=progress)}
        counted = self.histogram()
        return found if counted is None else found | {"histogram": counted}

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


@dataclass(frozen=True, eq=False)
class SparseOutput:
    """The queries among the database, and the queries among each other."""

    among_items: SearchedSet
    among_queries: SearchedSet

    def save(self, folder: Path) -> None:
        """Writes codes.npz: the buckets of the database and the activations of the queries, where there are buckets."""
        codes, activations = self.among_items.codes, self.among_items.activations
        if codes is None or activations is None:
            return
        arrays: dict[str, Any] = {"buckets": codes.buckets, "d": codes.d, "query_activations": activations}
        with atomic(folder / CODES) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    def count(self, relevance: Relevance, *, progress: bool = False) -> Evidence:  # noqa: ARG002
        """Both searches; relevance goes by the labels that the sets have."""
        return Evidence(self.among_items.counts(progress=progress), self.among_queries.counts(progress=progress))


def _labels(rows: ItemRows) -> Labels:
    if rows.labels is None:
        raise HashbenchError("codes searched by buckets are scored by labels, and this protocol goes by distances")
    return rows.labels


def _activate(hasher: SparseHasher, rows: ItemRows, embeddings: Floats, bar: tqdm[None]) -> Iterator[NDArray[Any]]:
    """The activations of ``rows``, of which all the ``embeddings`` are known, block by block."""
    first = 0
    for items in rows.blocks():
        yield hasher.activate(items, embeddings[first : first + len(items)])
        first += len(items)
        bar.update(len(items))
