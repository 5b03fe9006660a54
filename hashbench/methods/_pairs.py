"""Relevance among training examples for shallow methods: all pairs, or random neighbours of each example."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hashbench.contract import TrainingData, TrainingFailed
from hashbench.relevance.labels import from_labels

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def relevant_pairs(data: TrainingData) -> Bools:
    """bool[n, n]: whether column j is relevant to row i; TrainingFailed if all pairs of two examples are, or none."""
    relevance = from_labels(data.labels, data.labels) if data.relevance is None else data.relevance
    n = len(data.items)
    pairs = relevance.block(slice(0, n), slice(0, n)) > 0
    others = pairs.sum() - pairs.diagonal().sum()
    if others in (0, n * (n - 1)):
        which = "none of them is" if others == 0 else "all of them are (is there one class only?)"
        needed = "relevant and irrelevant pairs are needed"
        raise TrainingFailed(f"the {n} training examples: {which} relevant to each other; {needed}")
    return pairs


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Of m examples up to r relevant neighbours, then up to s irrelevant ones; a missing one is the example itself."""

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
    near, far = _draw(relevant, n_relevant, random), _draw(irrelevant, n_irrelevant, random)
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
