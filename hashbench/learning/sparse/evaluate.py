"""The evaluation of k-sparse codes: the searches from which metrics are computed, and the codes as Hamming codes."""

import numpy as np
from numpy.typing import NDArray

from hashbench.learning.sparse.codes import SparseCodes
from hashbench.learning.sparse.index import build
from hashbench.learning.sparse.search import query
from hashbench.scoring.codes import Codes
from hashbench.scoring.histogram.retrieval import CUTOFFS, Reranked, Retrieval
from hashbench.scoring.relevance.labels import Labels

Floats = NDArray[np.floating]


def evaluate(
    codes: SparseCodes | None,  # None: all items are candidates (exhaustive search), and activations are ignored
    embeddings: Floats,
    labels: Labels,
    query_activations: Floats | None,
    query_embeddings: Floats,
    query_labels: Labels,
    *,
    itself: bool,  # the queries are the items, in the same order, and a query does not find itself
    workers: int | None = None,
    progress: bool = False,
) -> Retrieval:
    """The searches for the nearest 1, 4 and 16 items, or all of fewer; items that share a label are relevant.

    Codes, embeddings and labels have a row for each item, and activations, embeddings and labels of the queries one for
    each query.
    """
    n = len(embeddings)
    n_queries = len(query_embeddings)
    n_items = n - itself
    buckets = codes
    activations = query_activations
    if buckets is None or activations is None:
        buckets = SparseCodes(np.zeros((n, 1), np.int32), d=1)  # all items in one
        activations = np.zeros((n_queries, 1))
    index = build(buckets, embeddings)
    exclude = np.arange(n_queries) if itself else np.full(n_queries, -1)

    reranked = {}
    for cutoff in CUTOFFS:
        top = min(cutoff, n_items)
        nearest = query(index, activations, query_embeddings, top, exclude=exclude, workers=workers, progress=progress)
        reranked[cutoff] = Reranked(_relevant(nearest.ids, labels, query_labels), nearest.n_candidates)
    classes = None if codes is None else contingency(codes, labels)
    return Retrieval(n_items, reranked, classes)


def _relevant(ids: NDArray[np.int64], labels: Labels, query_labels: Labels) -> NDArray[np.bool_]:
    def shared(nearest: Labels) -> NDArray[np.bool_]:
        if labels.ndim == 1:
            return (query_labels == nearest) & (query_labels >= 0)
        return ((query_labels != 0) & (nearest != 0)).any(axis=1)

    # one rank at a time: [q, K, labels] of multi-hot labels would be large
    return np.stack([shared(labels[at_rank]) for at_rank in ids.T], axis=1)


def contingency(codes: SparseCodes, labels: Labels) -> NDArray[np.int64] | None:
    """Items of each class in each bucket, int64[d, classes]; None for k > 1, multi-hot labels, or without any class."""
    if codes.k != 1 or labels.ndim != 1 or not (labels >= 0).any():
        return None
    known = labels >= 0
    classes, of_class = np.unique(labels[known], return_inverse=True)
    place = codes.buckets[known, 0].astype(np.int64) * len(classes) + of_class
    return np.bincount(place, minlength=codes.d * len(classes)).reshape(codes.d, len(classes))


def as_hamming(codes: SparseCodes) -> Codes:
    """The codes as packed binary codes of ``d`` bits; raises HashbenchError for more than 4096 bits."""
    words = np.zeros((len(codes), -(-codes.d // 64)), np.uint64)
    rows = np.arange(len(codes))
    for bit in codes.buckets.T:  # one bit of each item at a time, so that no word is written twice in one statement
        words[rows, bit // 64] |= np.uint64(1) << (bit % 64).astype(np.uint64)
    return Codes(words, codes.d)
