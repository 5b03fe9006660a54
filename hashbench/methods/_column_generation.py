"""Column generation for StructHash and CGH: each new bit is a new variable (column) of a problem over bit weights.

In turn, the problem with the bits found so far gives weights of pairs (its dual variables), and the next bit is the one
that these pair weights favour most (Lin et al. 2014, Algorithm 1; Li et al. 2013).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.hasher import Floats, TrainingData
from hashbench.methods._kernel import Kernel, random_kernel
from hashbench.methods._neighbours import Neighbours, random_neighbours
from hashbench.methods._pair_bits import Perceptrons, between
from hashbench.methods._shallow import HashFunction, ShallowSettings
from hashbench.methods._similarity import Bools
from hashbench.progress import bar
from hashbench.training.failure import TrainingFailed

Singles = NDArray[np.float32]


class ColumnSettings(ShallowSettings):
    """The settings of both methods.

    Attributes:
        hash_functions: Perceptrons of the features, or of their kernel responses to ``n_anchors`` training examples.
        n_relevant, n_irrelevant: The random neighbours of each training example that are compared.
        C: The weight of the loss; the weight of the l1 norm of the bit weights is 1.
        ridge: Added to the diagonal of the matrix X'X of the spectral relaxation, as a multiple of its mean diagonal.
        iterations: The most iterations of L-BFGS for one bit.
    """

    hash_functions: Literal["linear", "kernel"]
    n_anchors: int = Field(ge=1)
    n_relevant: int = Field(ge=1)
    n_irrelevant: int = Field(ge=1)
    C: float = Field(gt=0)
    ridge: float = Field(gt=0)
    iterations: int = Field(ge=0)


@dataclass(frozen=True, eq=False)
class WeightedLinear(HashFunction):
    """activations = features @ projection + bias; projection [d, bits], bias [bits], bit weights [bits]."""

    projection: Floats
    bias: Floats
    weights: Floats = field()  # type: ignore[misc]  # the base class has no weights, as most methods

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return len(self.projection)

    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d]."""
        return features @ self.projection + self.bias


@dataclass(frozen=True, eq=False)
class WeightedKernel(WeightedLinear):
    """The same of the kernel responses to ``anchors`` [m, d]; projection [m, bits]."""

    anchors: Floats
    bandwidth: Floats

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return self.anchors.shape[1]

    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d]."""
        return super().activations(Kernel(self.anchors, self.bandwidth)(features))


FUNCTIONS = WeightedLinear, WeightedKernel


class Master(ABC):
    """The optimisation over the weights of the bits so far; with no bit it has random dual variables."""

    pair_weights: Floats  # [m, r + s]: by how much the next bit should differ in each pair
    weights: Floats  # [bits]: the learned weights of the bits, each 0 or more

    @abstractmethod
    def add(self, differs: Bools) -> None:
        """Solves it again with a new bit; ``differs`` bool[m, r + s] are the pairs that differ in the bit."""


class Rows:
    """Rows of a float32 matrix; rows can be added, and be dropped."""

    def __init__(self, width: int) -> None:
        self._kept = np.empty((64, width), np.float32)
        self._n = 0

    @property
    def all(self) -> Singles:
        """All rows, float32[n, width]."""
        return self._kept[: self._n]

    def add(self, row: Singles) -> None:
        """Adds a row; the space for rows is doubled when it is full."""
        if self._n == len(self._kept):
            self._kept = np.concatenate([self._kept, np.empty_like(self._kept)])
        self._kept[self._n] = row
        self._n += 1

    def keep(self, which: Bools) -> None:
        """Drops the rows that are not in ``which`` bool[n]."""
        for row, kept in enumerate(np.flatnonzero(which)):
            self._kept[row] = self._kept[kept]
        self._n = int(which.sum())


MakeMaster = Callable[[Any, Neighbours, np.random.Generator], Master]


def fit_columns(settings: ColumnSettings, features: Floats, data: TrainingData, make: MakeMaster) -> WeightedLinear:
    """The hash functions that column generation finds with the master ``make(settings, neighbours, random)``."""
    random = np.random.default_rng(data.seed)
    neighbours = random_neighbours(data, settings.n_relevant, settings.n_irrelevant, random)
    kernel = random_kernel(features, settings.n_anchors, random) if settings.hash_functions == "kernel" else None
    inputs = features if kernel is None else kernel(features)
    # one scale for all features: the relaxation and L-BFGS see inputs of mean 0 and mean square 1
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0).mean() or 1.0
    perceptrons = Perceptrons((inputs - mean) / scale, settings.ridge, settings.iterations)
    master = make(settings, neighbours, random)
    columns = _generate(settings.bits, perceptrons, neighbours, master, shown=data.progress)
    projection = columns[:-1] / scale
    found = {"projection": projection, "bias": columns[-1] - mean @ projection, "weights": master.weights}
    if kernel is None:
        return WeightedLinear(**found)
    return WeightedKernel(**found, anchors=kernel.anchors, bandwidth=kernel.bandwidth)


def _generate(bits: int, perceptrons: Perceptrons, neighbours: Neighbours, master: Master, *, shown: bool) -> Floats:
    """The directions and biases [d + 1, bits] of all bits; ``master`` then has their weights."""
    columns = []
    with bar("fitting", "bit", bits, shown=shown) as progress:
        for _ in range(bits):
            columns.append(perceptrons.fit(between(neighbours, master.pair_weights)))
            master.add(neighbours.differs(perceptrons.inputs @ columns[-1] > 0))
            progress.update(1)
    if not master.weights.any():
        raise TrainingFailed("all weights of bits are 0: C is too small for these data")
    return np.column_stack(columns)
