"""BRE: binary reconstructive embeddings (Kulis, Darrell 2009), by coordinate descent on the distances of sampled pairs.

Bit b of x is 1 if sum_r W_rb <x_rb, x> > 0, for random training examples x_rb. The weights W minimise 1/2 sum over
pairs (d_ij - D_ij)^2, where D is the Hamming distance divided by the number of bits, and d is 0 for relevant pairs and
1 for others. (Without labels the paper's d are distances of the features.)
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.lazy import Lazy
from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._pairs import relevant_pairs
from hashbench.learning.methods._shallow import Linear, ShallowSettings, require_anchors, shallow_method

loops = Lazy("hashbench.learning.methods._numba")

Indices = NDArray[np.int64]
Numbers = NDArray[np.int32]


class Settings(ShallowSettings):
    """In each pass one random weight of every bit is set to its best value."""

    supervised: Literal[True]  # a part of the name of each run
    n_anchors: int = Field(ge=1)  # the examples of a bit
    init_std: float = Field(gt=0)  # of the normal numbers that weights start as
    pair_share: float = Field(gt=0, le=1)  # the objective is over the pairs of each example with this share of all
    passes: int = Field(ge=0)
    tolerance: float = Field(ge=0)  # a pass that lowers the objective by at most this is the last
    centre: bool  # whether the mean of the training features is subtracted first


class Pairs(NamedTuple):
    """The pairs (i, j) of the objective and their target distances, each in 0 to 1."""

    first: Numbers
    second: Numbers
    target: Floats


class Embedding:
    """The weights [n_anchors, bits], the bits of the training examples under them, and the objective."""

    def __init__(self, kernel: Floats, anchors: Indices, weights: Floats, pairs: Pairs) -> None:
        """``kernel`` [n, n] of the training examples; ``anchors`` [n_anchors, bits] are their numbers."""
        self.kernel = kernel
        self.anchors = anchors
        self.weights = weights
        self.pairs = pairs
        columns = zip(anchors.T, weights.T, strict=True)
        self.activations = np.stack([kernel[:, ids] @ column for ids, column in columns])  # [bits, n]
        self.n_bits = weights.shape[1]
        differing = (bit[pairs.first] != bit[pairs.second] for bit in self.activations > 0)
        self.distances = sum(differing) / self.n_bits  # D_ij of each pair
        self.objective = half_squares(self.distances - pairs.target)
        # of each pair
        self._others = np.empty_like(pairs.target)
        self._moved = np.empty_like(pairs.target)
        self._errors = np.empty_like(pairs.target)

    def improve(self, bit: int, anchor: int) -> None:
        """Sets one weight to the value with the least objective; the others stay. The objective never rises."""
        slope = self.kernel[self.anchors[anchor, bit]]
        activations = self.activations[bit]
        step = self._best_step(activations, slope)
        moved = activations + step * slope
        bits = (moved > 0).view(np.uint8)
        loops.moved_pairs(*self.pairs, bits, self.n_bits, self._others, self._moved, self._errors)
        objective = half_squares(self._errors)
        if objective < self.objective:
            self.weights[anchor, bit] += step
            self.activations[bit] = moved
            self.objective = objective
            self.distances, self._moved = self._moved, self.distances

    def _best_step(self, activations: Floats, slope: Floats) -> float:
        """The change with the least objective: as it grows a bit flips once, so all outcomes are one cumulative sum.

        It leaves in ``_others`` the distances without this bit.
        """
        flips = np.full(len(slope), np.inf)
        np.divide(-activations, slope, out=flips, where=slope != 0)
        order = np.argsort(flips, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        before = np.where(slope == 0, activations > 0, slope < 0)  # the bits at -infinity
        start = np.zeros(len(slope))
        end = np.zeros(len(slope))
        states = place * 4 + before * 2 + (activations > 0)
        loops.outcomes_of_pairs(*self.pairs, self.distances, states, self.n_bits, self._others, start, end)
        n_flips = np.count_nonzero(slope)
        if n_flips == 0:
            return 0.0
        changes = np.concatenate([[0], np.cumsum(start - end)[:n_flips]])
        flips = flips[order[:n_flips]]
        # the middle of the interval between two flips with the lowest change
        margin = (flips[-1] - flips[0]) / len(flips) or 1.0
        bounds = np.concatenate([[flips[0] - margin], flips, [flips[-1] + margin]])
        lowest = np.argmin(np.where(np.diff(bounds) > 0, changes, np.inf))
        return float(bounds[lowest] + bounds[lowest + 1]) / 2


def half_squares(errors: Floats) -> float:
    """Half the sum of the squared ``errors`` [n]."""
    return float(errors @ errors) / 2


def sampled_pairs(target: Floats, share: float, random: np.random.Generator) -> Pairs:
    """Pairs (i, j) of each example i and a random ``share`` of all j, without j = i."""
    n = len(target)
    n_each = max(1, int(share * n))
    second = np.argpartition(random.random((n, n)), n_each - 1, axis=1)[:, :n_each].ravel().astype(np.int32)
    first = np.repeat(np.arange(n, dtype=np.int32), n_each)
    kept = first != second
    return Pairs(first[kept], second[kept], target[first[kept], second[kept]])


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    n = len(features)
    require_anchors(settings.n_anchors, n)
    mean = np.zeros(features.shape[1])
    if settings.centre:
        mean = features.mean(axis=0)
    moved = features - mean
    target = np.where(relevant_pairs(data), 0.0, 1.0)
    random = np.random.default_rng(data.seed)
    pairs = sampled_pairs(target, settings.pair_share, random)
    anchors = np.stack([random.choice(n, settings.n_anchors, replace=False) for _ in range(settings.bits)], axis=1)
    weights = settings.init_std * random.standard_normal(anchors.shape)
    embedding = Embedding(moved @ moved.T, anchors, weights, pairs)
    for _ in with_bar(range(settings.passes), "BRE", "pass", shown=data.execution.progress):
        before = embedding.objective
        for bit, anchor in enumerate(random.integers(settings.n_anchors, size=settings.bits)):
            embedding.improve(bit, anchor)
        if before - embedding.objective <= settings.tolerance:
            break
    projection = np.stack([moved[ids].T @ w for ids, w in zip(anchors.T, embedding.weights.T, strict=True)], axis=1)
    return Linear(mean, projection)


METHOD = shallow_method(Settings, _fit, Linear, identity=("supervised",), supervision="relevance")
