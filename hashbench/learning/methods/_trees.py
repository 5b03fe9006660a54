"""Boosted trees as hash functions: a bit is the sign of a sum of decision trees (Lin et al. 2014, FastHash)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.lazy import Lazy
from hashbench.learning.contract import Floats
from hashbench.learning.methods._shallow import HashFunction, ShallowSettings
from hashbench.learning.steps import Step, trees

loops = Lazy("hashbench.learning.methods._numba")

BINS = 64  # _numba.BINS


@dataclass(frozen=True, eq=False)
class Trees(HashFunction):
    """activations = the sum over complete trees, level by level, of the value of the leaf that an item reaches."""

    features: NDArray[np.int32]  # [bits, trees, nodes]
    thresholds: Floats
    values: Floats  # [bits, trees, leaves]
    width: NDArray[np.int64]  # []: the number of features of an item

    @property
    def n_features(self) -> int:
        return int(self.width)

    def steps(self) -> list[Step]:
        arrays: dict[str, NDArray[Any]] = {
            "features": self.features,
            "thresholds": self.thresholds,
            "values": self.values,
        }
        return [Step(trees, arrays)]

    def activations(self, features: Floats) -> Floats:  # as the steps do, many times as fast
        scores = np.zeros((len(features), len(self.features)))
        loops.evaluate(np.ascontiguousarray(features), self.features, self.thresholds, self.values, scores)
        return scores


class TreeSettings(ShallowSettings):
    n_trees: int = Field(ge=1)  # of a bit
    depth: int = Field(ge=1, le=10)
    n_tried: int = Field(ge=1)  # each tree chooses among so many random features, or all
    trim: float = Field(ge=0, lt=1)  # it does not see the examples of smallest weight with this share of all weight


class Binned(NamedTuple):
    """The bin of a feature is the number of its ``thresholds``, some of them infinite, below the value."""

    bins: NDArray[np.uint8]  # [d, n]
    thresholds: Floats  # [d, 64], each halfway between two values


class OneBit(NamedTuple):
    """The trees of one bit, as in ``Trees``, and the ``scores`` [n], their activations of the training examples."""

    features: NDArray[np.int32]
    thresholds: Floats
    values: Floats
    scores: Floats
    width: int


def binned(features: Floats) -> Binned:
    """The bins of ``features`` [n, d]: one for each value, or 64 of about as many examples if there are more."""
    columns = np.ascontiguousarray(features.T)
    thresholds = np.full((len(columns), BINS), np.inf)
    bins = np.empty(columns.shape, np.uint8)
    for f, column in enumerate(columns):
        ordered = np.sort(column)
        last = np.flatnonzero(np.diff(ordered))  # the last example of each value except the greatest
        if len(last) >= BINS:
            goals = np.arange(1, BINS) * len(ordered) / BINS - 1
            last = last[np.unique(np.minimum(np.searchsorted(last, goals), len(last) - 1))]
        cuts = np.unique((ordered[last] + ordered[last + 1]) / 2)
        thresholds[f, : len(cuts)] = cuts
        bins[f] = np.searchsorted(cuts, column)
    return Binned(bins, thresholds)


def boosted(
    examples: Binned, signs: Floats, settings: TreeSettings, random: np.random.Generator, weights: Floats | None = None
) -> OneBit:
    """Trees whose activations have the ``signs`` [n], -1 or 1, of the examples; an error costs its ``weights`` [n]."""
    width, n = examples.bins.shape
    n_trees = settings.n_trees
    nodes = 2**settings.depth - 1
    n_tried = min(settings.n_tried, width)
    tried = np.stack([random.choice(width, n_tried, replace=False) for _ in range(n_trees)])
    features = np.zeros((n_trees, nodes), np.int32)
    cuts = np.zeros((n_trees, nodes), np.int64)
    values = np.zeros((n_trees, nodes + 1))
    scores = np.zeros(n)
    costs = np.ones(n)
    if weights is not None:
        costs = weights.astype(np.float64)
    grown = features, cuts, values, scores
    loops.boost(examples.bins, signs.astype(np.float64), costs, tried, float(settings.trim), *grown)
    return OneBit(features, examples.thresholds[features, cuts], values, scores, width)


def stacked(bits: Sequence[OneBit]) -> Trees:
    """The hash function of several ``bits``, which have equally many trees of equal depth."""
    features, thresholds, values, _, width = zip(*bits, strict=True)
    return Trees(np.stack(features), np.stack(thresholds), np.stack(values), np.asarray(width[0]))
