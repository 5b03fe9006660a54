"""The hash functions of StructHash and CGH: how a bit is fitted to pair weights, and what is kept of all bits."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import Field

from hashbench.contract import Floats
from hashbench.methods._kernel import random_kernel
from hashbench.methods._linear import KernelLinear, Linear
from hashbench.methods._pair_bits import PairMatrix, Perceptrons
from hashbench.methods._pair_trees import best_signs, flip_costs
from hashbench.methods._shallow import HashFunction
from hashbench.methods._similarity import Bools
from hashbench.methods._trees import OneBit, Trees, TreeSettings, binned, boosted, stacked


class FunctionSettings(TreeSettings):
    """The settings of the hash functions.

    Attributes:
        hash_functions: Perceptrons of the features; perceptrons of their kernel responses to ``n_anchors`` training
            examples; or boosted trees, with ``n_trees``, ``depth``, ``n_tried`` and ``trim`` as in ``Boosting``.
        ridge: Added to the diagonal of the matrix X'X of the spectral relaxation, as a multiple of its mean diagonal.
        iterations: The most iterations of L-BFGS for one perceptron.
    """

    hash_functions: Literal["linear", "kernel", "trees"]
    n_anchors: int = Field(ge=1)
    ridge: float = Field(gt=0)
    iterations: int = Field(ge=0)


FUNCTIONS = Linear, KernelLinear, Trees


class BitLearner(ABC):
    """Fits bits one after the other and keeps them."""

    @abstractmethod
    def add(self, matrix: PairMatrix) -> Bools:
        """Fits a bit that makes h'W h small, W the ``matrix``; returns its values bool[m] at the training examples."""

    @abstractmethod
    def function(self, weights: Floats) -> HashFunction:
        """The hash function of all bits so far, with their ``weights`` [bits]."""


def learner(settings: FunctionSettings, features: Floats, random: np.random.Generator) -> BitLearner:
    """The learner of ``settings.hash_functions`` for the ``features`` [m, d] of training examples."""
    if settings.hash_functions == "trees":
        return TreeLearner(settings, features, random)
    return PerceptronLearner(settings, features, random)


class PerceptronLearner(BitLearner):
    """Perceptrons of features or kernel responses, shifted to mean 0 and divided by one scale for all."""

    def __init__(self, settings: FunctionSettings, features: Floats, random: np.random.Generator) -> None:
        is_kernel = settings.hash_functions == "kernel"
        self._kernel = random_kernel(features, settings.n_anchors, random) if is_kernel else None
        inputs = features if self._kernel is None else self._kernel(features)
        self._mean, self._scale = inputs.mean(axis=0), inputs.std(axis=0).mean()
        self._perceptrons = Perceptrons((inputs - self._mean) / self._scale, settings.ridge, settings.iterations)
        self._columns: list[Floats] = []

    def add(self, matrix: PairMatrix) -> Bools:
        """See ``BitLearner``."""
        self._columns.append(self._perceptrons.fit(matrix))
        bits: Bools = self._perceptrons.inputs @ self._columns[-1] > 0
        return bits

    def function(self, weights: Floats) -> HashFunction:
        """See ``BitLearner``."""
        columns = np.column_stack(self._columns)
        projection = columns[:-1] / self._scale
        bias, zeros = columns[-1] - self._mean @ projection, np.zeros(len(projection))
        if self._kernel is None:
            return Linear(zeros, projection, bias, weights=weights)
        anchors, bandwidth = self._kernel.anchors, self._kernel.bandwidth
        return KernelLinear(zeros, projection, bias, anchors=anchors, bandwidth=bandwidth, weights=weights)


class TreeLearner(BitLearner):
    """Boosted trees: signs of the examples that make z'W z small, then trees for these signs."""

    def __init__(self, settings: FunctionSettings, features: Floats, random: np.random.Generator) -> None:
        self._boosting = settings.boosting
        self._examples, self._random = binned(features), random
        self._bits: list[OneBit] = []

    def add(self, matrix: PairMatrix) -> Bools:
        """See ``BitLearner``."""
        signs = best_signs(matrix, self._random)
        costs = flip_costs(matrix, signs)
        self._bits.append(boosted(self._examples, signs, self._boosting, self._random, costs / costs.mean()))
        return self._bits[-1].scores > 0

    def function(self, weights: Floats) -> HashFunction:
        """See ``BitLearner``."""
        return replace(stacked(self._bits), weights=weights)
