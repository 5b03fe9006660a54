"""Hashers of k-sparse codes: each item is in k buckets, and the items of a bucket are ranked by their embeddings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import all_or_none
from hashbench.foundation.progress import Bar
from hashbench.foundation.progress import bar as progress_bar
from hashbench.learning.contract import CODES, Counted, Counts, ItemRows, SearchCounts, SearchItems
from hashbench.learning.sparse.codes import SparseCodes, top_k
from hashbench.scoring import histogram
from hashbench.scoring.codes.distinct import DistinctCodes
from hashbench.scoring.relevance.labels import Labels, Relevance, from_labels

if TYPE_CHECKING:
    from hashbench.learning.training.hasher import DeepHasher

Floats = NDArray[np.float32]
# the metrics in every row of a search in buckets
OF_RETRIEVAL: tuple[str, ...] = (
    "suf",
    "suf@4",
    "suf@16",
    "rerank_precision@1",
    "rerank_precision@4",
    "rerank_precision@16",
)


class SparseHasher(ABC):
    """A hasher that assigns each item to ``k`` buckets; if k = 0 there are no buckets and a query ranks all items."""

    k: int

    @abstractmethod
    def embed(self, items: NDArray[Any]) -> Floats:
        """Embeddings float32[n, m] of ``items`` (as the data set stores them)."""

    def searching(self, embeddings: Floats) -> SparseHasher:  # noqa: ARG002
        """The hasher for a search among the items with these ``embeddings`` [n, m]: by default itself."""
        return self

    def activate(self, items: NDArray[Any], embeddings: Floats) -> NDArray[np.floating]:  # noqa: ARG002
        """Activations float[n, d] of ``items``: the k largest are its buckets; by default the ``embeddings``."""
        return embeddings

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Writes the hasher into ``folder``, as a whole or not at all, without its base, which has its own run."""

    def output(self, data: SearchItems, *, progress: bool = False) -> SparseOutput:
        """The buckets and embeddings of the queries and the database."""
        queries = data.queries.whole()
        labels = data.database.labels
        query_labels = data.queries.labels
        if labels is None or query_labels is None:
            raise HashbenchError("codes searched by buckets are scored by labels, and this protocol goes by distances")
        with progress_bar("encode", "item", 2 * len(data.database), shown=progress) as bar:
            embeddings = self._embed_rows(data.database, bar)
            query_embeddings = self.embed(queries)
            among_items = SearchedSet(labels, embeddings, query_labels, query_embeddings, itself=False)
            among_queries = SearchedSet(query_labels, query_embeddings, query_labels, query_embeddings, itself=True)
            if self.k:
                among_items = self._coded(among_items, data.database, queries, bar)
                among_queries = self._coded(among_queries, data.queries, queries, bar)
        return SparseOutput(among_items, among_queries)

    def _coded(self, searched: SearchedSet, rows: ItemRows, queries: NDArray[Any], bar: Bar) -> SearchedSet:
        hasher = self.searching(searched.embeddings)
        parts = [top_k(activations, self.k) for activations in _activate(hasher, rows, searched.embeddings, bar)]
        codes = SparseCodes(np.concatenate([part.buckets for part in parts]), parts[0].d)
        return searched._replace(codes=codes, activations=hasher.activate(queries, searched.query_embeddings))

    def _embed_rows(self, rows: ItemRows, bar: Bar) -> Floats:
        embeddings = []
        for items in rows.blocks():
            embeddings.append(self.embed(items))
            bar.update(len(items))
        return np.concatenate(embeddings)

    def export(self, data: SearchItems, path: Path) -> list[Path]:
        """Writes the input of ``hashbench index``: the database to ``path``, the queries to STEM-queries beside it."""
        beside = path.with_name(f"{path.stem}-queries{path.suffix}")
        with all_or_none():
            self._export(data.database, path, {})
            self._export(data.queries, beside, {})
        return [path, beside]

    def export_items(self, rows: ItemRows, names: Sequence[str], path: Path) -> None:
        """Writes the input of ``hashbench index`` for the user's own items, their ``names`` and, if any, ``labels``."""
        more = {"names": np.array(names)}
        if rows.labels is not None:
            more["labels"] = rows.labels
        self._export(rows, path, more)

    def _export(self, rows: ItemRows, path: Path, more: dict[str, Any]) -> None:
        with progress_bar("encode", "item", (2 if self.k else 1) * len(rows)) as bar:
            arrays = {"embeddings": self._embed_rows(rows, bar)} | more
            if self.k:
                hasher = self.searching(arrays["embeddings"])
                arrays["activations"] = np.concatenate(list(_activate(hasher, rows, arrays["embeddings"], bar)))
        write_arrays(path, arrays, "plain")


@dataclass(frozen=True)
class ExhaustiveSearch(SparseHasher):
    """A metric network without buckets: a query ranks all items."""

    network: DeepHasher
    k: int = 0

    def embed(self, items: NDArray[Any]) -> Floats:
        """Embeddings float32[n, d], the outputs of the last layer, not normalised."""
        return self.network.encode(items)

    def save(self, folder: Path) -> None:
        """Writes the network."""
        self.network.save(folder)


@dataclass(frozen=True)
class BucketHasher(SparseHasher):
    """A hasher with k buckets for each item; the embeddings are those of ``base``."""

    base: SparseHasher
    k: int

    def embed(self, items: NDArray[Any]) -> Floats:
        """The base's embeddings."""
        return self.base.embed(items)


class SearchedSet(NamedTuple):
    """A set of items and the queries that search it, which are the items with ``itself``; ``codes`` if k > 0."""

    labels: Labels
    embeddings: Floats
    query_labels: Labels
    query_embeddings: Floats
    itself: bool
    codes: SparseCodes | None = None
    activations: NDArray[np.floating] | None = None  # [q, d], of the queries

    @property
    def query_codes(self) -> SparseCodes | None:
        """The codes of the queries; None without buckets."""
        if self.codes is None or self.activations is None:
            return None
        return top_k(self.activations, self.codes.k)

    def counts(self, *, progress: bool) -> dict[str, Counts]:
        """The retrieval; with buckets also the histogram of the codes as Hamming codes, to compare with other codes."""
        from hashbench.learning.sparse.evaluate import as_hamming, evaluate  # imports Numba: half a second

        items = (self.codes, self.embeddings, self.labels)
        queries = (self.activations, self.query_embeddings)
        retrieval = evaluate(*items, *queries, self.query_labels, itself=self.itself, progress=progress)
        query_codes = self.query_codes
        usual = OF_RETRIEVAL
        if retrieval.contingency is not None:
            usual = (*OF_RETRIEVAL, "nmi")
        counts: dict[str, Counts] = {"retrieval": SearchCounts(retrieval, usual)}
        if self.codes is None or query_codes is None:
            return counts
        relevance = from_labels(self.query_labels, self.labels)
        counted = histogram.count(as_hamming(query_codes), as_hamming(self.codes), relevance)
        if self.itself:
            counted = histogram.without_itself(counted, relevance)
        return {**counts, "histogram": SearchCounts(counted)}


@dataclass(frozen=True, eq=False)
class SparseOutput:
    """The codes of two searches: the queries search the database, and the queries search each other."""

    among_items: SearchedSet
    among_queries: SearchedSet

    def save(self, folder: Path) -> None:
        """If there are buckets, writes codes.npz: the buckets of the database and the activations of the queries."""
        codes = self.among_items.codes
        activations = self.among_items.activations
        if codes is None or activations is None:
            return
        arrays = {"buckets": codes.buckets, "d": codes.d, "query_activations": activations}
        write_arrays(folder / CODES, arrays)

    def count(self, relevance: Relevance, *, progress: bool = False) -> Counted:  # noqa: ARG002
        """The counts of both searches; relevance is computed from the labels of the sets."""
        database = self.among_items.counts(progress=progress)
        test = self.among_queries.counts(progress=progress)
        distinct = None
        codes = self.among_items.codes
        query_codes = self.among_items.query_codes
        if codes is not None and query_codes is not None:
            distinct = DistinctCodes(queries=query_codes.n_distinct, database=codes.n_distinct)
        return Counted(database, test, distinct=distinct)


def _activate(hasher: SparseHasher, rows: ItemRows, embeddings: Floats, bar: Bar) -> Iterator[NDArray[Any]]:
    first = 0
    for items in rows.blocks():
        yield hasher.activate(items, embeddings[first : first + len(items)])
        first += len(items)
        bar.update(len(items))
