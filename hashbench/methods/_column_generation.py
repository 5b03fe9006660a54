"""Column generation for StructHash and CGH: each new bit is a new variable (column) of a problem over bit weights.

In turn, the problem with the bits found so far gives weights of pairs (its dual variables), and the next bit is the one
that these pair weights favour most (Lin et al. 2014, Algorithm 1; Li et al. 2013).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.contract import Floats, TrainingData, TrainingFailed
from hashbench.foundation.progress import bar
from hashbench.methods._bit_learners import FUNCTIONS, FunctionSettings, learner, pair_matrix
from hashbench.methods._method import Method
from hashbench.methods._pairs import Bools, Neighbours, random_neighbours
from hashbench.methods._shallow import HashFunction, shallow_method

Singles = NDArray[np.float32]


class ColumnSettings(FunctionSettings):
    """The settings of both methods.

    Attributes:
        n_relevant, n_irrelevant: The random neighbours of each training example that are compared.
        C: The weight of the loss; the weight of the l1 norm of the bit weights is 1.
    """

    n_relevant: int = Field(ge=1)
    n_irrelevant: int = Field(ge=1)
    C: float = Field(gt=0)


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


def column_method(
    settings: type[ColumnSettings],
    master: Callable[[Any, Neighbours, np.random.Generator], Master],
    identity: tuple[str, ...],
) -> Method:
    """The method that finds its hash functions by column generation with ``master(settings, neighbours, random)``."""

    def fit(chosen: ColumnSettings, features: Floats, data: TrainingData) -> HashFunction:
        random = np.random.default_rng(data.seed)
        neighbours = random_neighbours(data, chosen.n_relevant, chosen.n_irrelevant, random)
        bits, problem = learner(chosen, features, random), master(chosen, neighbours, random)
        with bar("fitting", "bit", chosen.bits, shown=data.progress) as progress:
            for _ in range(chosen.bits):
                problem.add(neighbours.differs(bits.add(pair_matrix(neighbours, problem.pair_weights))))
                progress.update(1)
        if not problem.weights.any():
            raise TrainingFailed("all weights of bits are 0: C is too small for these data")
        return bits.function(problem.weights)

    return shallow_method(settings, fit, *FUNCTIONS, identity=identity, supervision="relevance")
