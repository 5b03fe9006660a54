"""The evaluation of k-sparse codes: the searches from which metrics are computed, and the codes as Hamming codes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import MAX_BITS, Codes
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram.retrieval import CUTOFFS, Reranked, Retrieval
from hashbench.relevance.labels import Labels, from_labels
from hashbench.sparse.codes import SparseCodes
from hashbench.sparse.index import Index, build
from hashbench.sparse.search import SearchResult, query

Floats = NDArray[np.floating]


def evaluate(
    codes: SparseCodes | None,
    embeddings: Floats,
    labels: Labels,
    query_activations: Floats | None,
    query_embeddings: Floats,
    query_labels: Labels,
    *,
    itself: bool,
    workers: int | None = None,
    progress: bool = False,
) -> Retrieval:
    """The searches for the nearest 1, 4 and 16 items with these ``codes``, ``embeddings`` [n, m] and ``labels``.

    A query opens the buckets of the k largest of its ``query_activations`` [q, d], then further buckets until they hold
    enough items. These candidates are ranked by the Euclidean distance to the query's embedding; equal distances by
    item number. If ``codes`` is None, all items are candidates (exhaustive search) and activations are ignored. Labels
    are class ids [n] (a negative id is no class) or multi-hot [n, labels]; an item that shares a class or a label with
    the query is relevant.

    With ``itself`` the queries are the items, in the same order, and a query does not find itself. If there are fewer
    than 16 (or 4) items to find, the search is for all of them. Raises HashbenchError if there are none, or if the
    shapes of the arrays do not fit each other.

    >>> items, same = np.array([[0.0], [1.0], [5.0]]), np.array([0, 1, 1])
    >>> found = evaluate(None, items, same, None, items, same, itself=True)
    >>> found.n_items, found.reranked[1].relevant[:, 0].tolist()
    (2, [False, False, True])
    """
    n_items = _items_to_find(embeddings, query_embeddings, itself=itself)
    _require_labels(labels, query_labels, len(embeddings), len(query_embeddings))
    exclude = np.arange(len(query_embeddings)) if itself else np.full(len(query_embeddings), -1)
    search = _Search(
        build(_one_bucket(len(embeddings)) if codes is None else codes, embeddings),
        _activations(codes, query_activations, len(query_embeddings)),
        query_embeddings,
        exclude,
        {"workers": workers, "progress": progress},
    )
    reranked = {
        cutoff: Reranked(_relevant(found.ids, labels, query_labels), found.n_candidates)
        for cutoff, found in search.by_cutoff(n_items).items()
    }
    return Retrieval(n_items, reranked, None if codes is None else contingency(codes, labels))


def contingency(codes: SparseCodes, labels: Labels) -> NDArray[np.int64] | None:
    """The number of items of each class in each bucket, int64[d, classes].

    The classes are those that occur, ascending. Items without a class (a negative id) are left out. The result is None
    if no item has a class, if an item is in several buckets (k > 1), or if labels are multi-hot. Raises HashbenchError
    unless there is a label for each code.

    >>> contingency(SparseCodes(np.array([[2], [0], [2]]), d=3), np.array([7, 5, 7]))
    array([[1, 0],
           [0, 0],
           [0, 2]])
    """
    if len(codes) != len(labels):
        raise HashbenchError(f"{len(codes)} codes, {len(labels)} labels: one of each for every item is expected")
    if codes.k != 1 or labels.ndim != 1 or not (labels >= 0).any():
        return None
    known = labels >= 0
    classes, of_class = np.unique(labels[known], return_inverse=True)
    place = codes.buckets[known, 0].astype(np.int64) * len(classes) + of_class
    return np.bincount(place, minlength=codes.d * len(classes)).reshape(codes.d, len(classes))


def as_hamming(codes: SparseCodes) -> Codes:
    """The codes as packed binary codes of ``d`` bits, of which ``k`` are set; HashbenchError for more than 4096 bits.

    >>> as_hamming(SparseCodes(np.array([[0, 2]]), d=3)).bits()
    array([[1, 0, 1]], dtype=uint8)
    """
    if codes.d > MAX_BITS:
        raise HashbenchError(f"sparse codes of {codes.d} buckets: as binary codes they can have {MAX_BITS} bits")
    words = np.zeros((len(codes), -(-codes.d // 64)), np.uint64)
    rows = np.arange(len(codes))
    for bit in codes.buckets.T:  # one bit of each item at a time, so that no word is written twice in one statement
        words[rows, bit // 64] |= np.uint64(1) << (bit % 64).astype(np.uint64)
    return Codes(words, codes.d)


@dataclass(frozen=True, eq=False)
class _Search:
    """A search of an index by some queries, which can be repeated for some of them; ``exclude`` as in ``query``."""

    index: Index
    activations: Floats
    embeddings: Floats
    exclude: NDArray[np.int64]
    how: dict[str, Any]

    def nearest(self, top: int, rows: NDArray[np.bool_] | slice = slice(None)) -> SearchResult:
        """The ``top`` nearest items of the queries ``rows``."""
        queries = self.activations[rows], self.embeddings[rows]
        return query(self.index, *queries, top, exclude=self.exclude[rows], **self.how)

    def by_cutoff(self, n_items: int) -> dict[int, SearchResult]:
        """The searches for the nearest 1, 4 and 16 items, or for all ``n_items`` if there are fewer."""
        largest, *others = reversed(CUTOFFS)
        found = {largest: self.nearest(min(largest, n_items))}
        for cutoff in others:
            found[cutoff] = self._narrowed(found[min(found)], min(cutoff, n_items))
        return {cutoff: found[cutoff] for cutoff in CUTOFFS}

    def _narrowed(self, wide: SearchResult, top: int) -> SearchResult:
        """The search for ``top`` items, derived from the search ``wide`` for at least as many.

        If the own k buckets of a query held enough items for ``wide``, it opens the same buckets for ``top``, and its
        result is the beginning of the same list. The other queries, which opened further buckets, search again.
        """
        further = wide.n_opened > self.index.codes.k
        found = SearchResult(
            wide.ids[:, :top].copy(), wide.distances[:, :top].copy(), *(part.copy() for part in wide[2:])
        )
        if further.any():
            for part, again in zip(found, self.nearest(top, further), strict=True):
                part[further] = again
        return found


def _one_bucket(n: int) -> SparseCodes:
    return SparseCodes(np.zeros((n, 1), np.int32), d=1)


def _activations(codes: SparseCodes | None, activations: Floats | None, n_queries: int) -> Floats:
    if codes is None:
        return np.zeros((n_queries, 1))
    if activations is None or activations.shape != (n_queries, codes.d):
        shape = "none" if activations is None else f"of shape {activations.shape}"
        raise HashbenchError(f"query activations {shape}: [{n_queries}, {codes.d}] is expected")
    return activations


def _items_to_find(embeddings: Floats, query_embeddings: Floats, *, itself: bool) -> int:
    n, n_queries = len(embeddings), len(query_embeddings)
    if itself and n != n_queries:
        raise HashbenchError(f"{n_queries} queries, {n} items: items that search each other are as many")
    if n - itself < 1:
        raise HashbenchError(f"{n} items: nothing is there to be found{' besides the query itself' if itself else ''}")
    return n - itself


def _require_labels(labels: Labels, query_labels: Labels, n: int, n_queries: int) -> None:
    shape = from_labels(query_labels, labels).shape
    if shape != (n_queries, n):
        raise HashbenchError(
            f"labels of {shape[0]} queries and {shape[1]} items, embeddings of {n_queries} and {n}: rows must match"
        )


def _relevant(ids: NDArray[np.int64], labels: Labels, query_labels: Labels) -> NDArray[np.bool_]:
    """Whether the retrieved items ``ids`` [q, K] are relevant, bool[q, K]."""
    # one rank at a time: [q, K, labels] of multi-hot labels would be large
    return np.stack([_share(query_labels, labels[at_rank]) for at_rank in ids.T], axis=1)


def _share(one: Labels, other: Labels) -> NDArray[np.bool_]:
    """Whether the two items in each row share a class or a label, bool[q]."""
    if one.ndim == 1:
        return (one == other) & (one >= 0)
    return ((one != 0) & (other != 0)).any(axis=1)
