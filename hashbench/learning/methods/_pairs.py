"""Relevance among training examples for shallow methods: all pairs, or random neighbours of each example."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.parallel import slices
from hashbench.learning.contract import Floats, TrainingData, TrainingFailed
from hashbench.scoring.relevance.labels import Relevance, from_labels

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

ROWS = 1000  # of the pairs that are checked at a time


def relevant_pairs(data: TrainingData) -> Bools:
    """bool[n, n]: whether column j is relevant to row i; TrainingFailed if all pairs of two examples are, or none."""
    n = len(data.items)
    pairs = _relevance(data).block(slice(0, n), slice(0, n)) > 0
    others = pairs.sum() - pairs.diagonal().sum()
    if others in (0, n * (n - 1)):
        raise _one_kind(n, others > 0)
    return pairs


class RelevantColumns:
    """Columns of ``relevant_pairs``, which are never all in memory; TrainingFailed as there."""

    def __init__(self, data: TrainingData) -> None:
        self._relevance = _relevance(data)
        self._n = len(data.items)
        kinds: set[bool] = set()
        for rows in slices(self._n, ROWS):  # up to the first rows with both kinds
            pairs = self._relevance.block(rows, slice(0, self._n)) > 0
            others = pairs[np.arange(self._n) != np.arange(rows.start, rows.stop)[:, None]]
            kinds |= set(np.unique(others).tolist())
            if len(kinds) == 2:
                return
        raise _one_kind(self._n, True in kinds)

    def of(self, ids: Ints) -> Floats:
        """float64[n, m] of 0 and 1: whether each example is relevant to that of each column, ``ids`` [m]."""
        everyone = slice(0, self._n)
        return np.concatenate([self._relevance.block(slice(i, i + 1), everyone) > 0 for i in ids]).T.astype(np.float64)


@dataclass(frozen=True, eq=False)
class _EitherWay:
    """The higher level of each pair: by its own threshold an example may be near another one that is not near it."""

    known: Relevance

    @property
    def levels(self) -> Ints:
        return self.known.levels

    @property
    def shape(self) -> tuple[int, int]:
        return self.known.shape

    def block(self, queries: slice, database: slice) -> NDArray[np.uint16]:
        return np.maximum(self.known.block(queries, database), self.known.block(database, queries).T)


def _relevance(data: TrainingData) -> Relevance:
    """The relevance of the examples to each other, which is the same both ways."""
    if data.relevance is None:
        return from_labels(data.labels, data.labels)
    has_own_thresholds = np.ndim(data.relevance.thresholds) == 2
    if has_own_thresholds:
        return _EitherWay(data.relevance)
    return data.relevance


def _one_kind(n: int, are_relevant: bool) -> TrainingFailed:
    which = "none of them is"
    if are_relevant:
        which = "all of them are (is there one class only?)"
    needed = "relevant and irrelevant pairs are needed"
    return TrainingFailed(f"the {n} training examples: {which} relevant to each other; {needed}")


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Up to r relevant and s irrelevant neighbours of each of m examples; the example itself for a missing one."""

    ids: Ints
    r: int
    n_relevant: Ints
    n_irrelevant: Ints

    @property
    def n_ranked(self) -> int:
        return int((self.n_relevant > 0).sum())

    @cached_property
    def is_filler(self) -> Bools:
        """bool[m, r + s]: the entries that are no neighbour, but the query itself."""
        return np.asarray(self.ids == np.arange(len(self.ids))[:, None])

    def differs(self, bits: Bools) -> Bools:
        """bool[m, r + s]: whether query and neighbour differ; ``bits`` bool[m] is one bit of all examples."""
        return np.asarray(bits[:, None] != bits[self.ids])


def random_neighbours(
    data: TrainingData, n_relevant: int, n_irrelevant: int, random: np.random.Generator
) -> Neighbours:
    """``n_relevant`` random relevant and ``n_irrelevant`` irrelevant neighbours of each example, or all it has."""
    relevant = relevant_pairs(data)
    irrelevant = ~relevant
    np.fill_diagonal(relevant, val=False)
    np.fill_diagonal(irrelevant, val=False)
    near = _draw(relevant, n_relevant, random)
    far = _draw(irrelevant, n_irrelevant, random)
    ranked: Bools = np.logical_and(relevant.any(axis=1), irrelevant.any(axis=1))
    ids = np.hstack([near, far])
    return Neighbours(
        np.where(ranked[:, None] & (ids >= 0), ids, np.arange(len(relevant))[:, None]),
        near.shape[1],
        np.where(ranked, (near >= 0).sum(axis=1), 0),
        np.where(ranked, (far >= 0).sum(axis=1), 0),
    )


def _draw(pairs: Bools, most: int, random: np.random.Generator) -> Ints:
    """int64[m, <= most]: random columns that are set in each row of ``pairs``; -1 at the end of a row with fewer."""
    key = np.where(pairs, random.random(pairs.shape), 2.0)  # columns that are not set come last
    chosen = np.argsort(key, axis=1)[:, : min(most, int(pairs.sum(axis=1).max()))]
    return np.where(np.take_along_axis(pairs, chosen, axis=1), chosen, -1)
