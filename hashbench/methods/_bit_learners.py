"""A new bit from weights of pairs, for StructHash and CGH: perceptrons, or boosted trees (Lin et al. 2014).

The bit maximises the sum over pairs (i, n) of weight[i, n] * [bit(i) != bit(n)]. With signs h = -1, +1 that is
(sum of all weights - h'W h) / 2, where W is the symmetric matrix with half of weight[i, n] at (i, n) and at (n, i).

A perceptron minimises h'W h with tanh in place of the sign (eq. 15 and 17). Trees take two steps. The first seeks signs
z of the training examples with a small z'W z: from the eigenvector of the smallest eigenvalue, single examples are
flipped while that lowers z'W z. The second is a classifier for z; an error at example i costs what a flip of z_i would.
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import Field

from hashbench.contract import Floats
from hashbench.methods._block_cut import least_eigenvector_signs
from hashbench.methods._linear import KernelLinear, Linear, inputs_of
from hashbench.methods._pairs import Bools, Neighbours
from hashbench.methods._shallow import HashFunction
from hashbench.methods._trees import OneBit, Trees, TreeSettings, binned, boosted, stacked

PairMatrix = Any  # W, a sparse scipy.sparse.csr_array [m, m]
FLIPS = 20  # flips for each example at most; far fewer are needed
FUNCTIONS = Linear, KernelLinear, Trees


class FunctionSettings(TreeSettings):
    """The settings of the hash functions.

    Attributes:
        hash_functions: Perceptrons of the features; perceptrons of their kernel responses to ``n_anchors`` training
            examples; or boosted trees, with ``n_trees``, ``depth``, ``n_tried`` and ``trim`` as in ``TreeSettings``.
        ridge: Added to the diagonal of the matrix X'X of the spectral relaxation, as a multiple of its mean diagonal.
        iterations: The most iterations of L-BFGS for one perceptron.
    """

    hash_functions: Literal["linear", "kernel", "trees"]
    n_anchors: int = Field(ge=1)
    ridge: float = Field(gt=0)
    iterations: int = Field(ge=0)


def learner(
    settings: FunctionSettings, features: Floats, random: np.random.Generator
) -> "PerceptronLearner | TreeLearner":
    """The learner of ``settings.hash_functions`` for the ``features`` [m, d] of training examples."""
    chosen = TreeLearner if settings.hash_functions == "trees" else PerceptronLearner
    return chosen(settings, features, random)


def pair_matrix(neighbours: Neighbours, pair_weights: Floats) -> PairMatrix:
    """W, scaled so that the absolute values of the pair weights have sum 1."""
    from scipy.sparse import csr_array

    m, width = neighbours.ids.shape
    starts = np.arange(0, m * width + 1, width)
    scaled = pair_weights.ravel() / (2 * np.abs(pair_weights).sum())
    one_way = csr_array((scaled, neighbours.ids.ravel(), starts), shape=(m, m))
    return (one_way + one_way.T).tocsr()


class PerceptronLearner:
    """Perceptrons of features or kernel responses, shifted to mean 0 and divided by one scale for all."""

    def __init__(self, settings: FunctionSettings, features: Floats, random: np.random.Generator) -> None:
        self._inputs = inputs_of(settings.hash_functions, features, settings.n_anchors, random)
        values = self._inputs.values
        self._mean, self._scale = values.mean(axis=0), values.std(axis=0).mean()
        self._perceptrons = Perceptrons((values - self._mean) / self._scale, settings.ridge, settings.iterations)
        self._columns: list[Floats] = []

    def add(self, matrix: PairMatrix) -> Bools:
        """Fits a bit that makes h'W h small, W the ``matrix``; returns its values bool[m] at the training examples."""
        self._columns.append(self._perceptrons.fit(matrix))
        return np.asarray(self._perceptrons.inputs @ self._columns[-1] > 0)

    def function(self, weights: Floats) -> HashFunction:
        """The hash function of all bits so far, with their ``weights`` [bits]."""
        columns = np.column_stack(self._columns)
        projection = columns[:-1] / self._scale
        return self._inputs.function(None, projection, columns[-1] - self._mean @ projection, weights=weights)


class Perceptrons:
    """Fits linear perceptrons: bit = [inputs @ direction + bias > 0], with ``inputs`` [m, d] of mean 0.

    ``ridge`` regularises the spectral relaxation, and ``iterations`` is the most that L-BFGS makes.
    """

    def __init__(self, inputs: Floats, ridge: float, iterations: int) -> None:
        self.inputs = np.column_stack([inputs, np.ones(len(inputs))])  # the last one is for the bias
        self._gram = self.inputs.T @ self.inputs
        self._gram[np.diag_indices(len(self._gram))] += ridge * np.trace(self._gram) / len(self._gram)
        self._options = {"maxiter": iterations}

    def fit(self, matrix: PairMatrix) -> Floats:
        """Direction and bias [d + 1] of a new bit."""
        from scipy.optimize import minimize

        start = self.spectral(matrix)
        arguments = {"jac": True, "method": "L-BFGS-B", "options": self._options}
        return np.asarray(minimize(lambda column: smoothed(self.inputs, matrix, column), start, **arguments).x)

    def spectral(self, matrix: PairMatrix) -> Floats:
        """The v of the smallest v'X'WXv / v'(X'X + ridge)v, scaled so that Xv has mean square 1: it has no sign(.)."""
        from scipy.linalg import eigh

        _, vectors = eigh(self.inputs.T @ (matrix @ self.inputs), self._gram, subset_by_index=[0, 0])
        values = self.inputs @ vectors[:, 0]
        # the sign of an eigenvector is arbitrary, and so is a bit's: here the first example has 0
        return vectors[:, 0] / (np.sqrt(np.square(values).mean()) * (-1 if values[0] > 0 else 1))


def smoothed(inputs: Floats, matrix: PairMatrix, column: Floats) -> tuple[float, Floats]:
    """The value h'W h with h = tanh(inputs @ column) in place of the sign, and its gradient [d + 1]."""
    h = np.tanh(inputs @ column)
    pulled = matrix @ h
    return float(h @ pulled), inputs.T @ (2 * pulled * (1 - h * h))


class TreeLearner:
    """Boosted trees: signs of the examples that make z'W z small, then trees for these signs."""

    def __init__(self, settings: FunctionSettings, features: Floats, random: np.random.Generator) -> None:
        self._settings, self._examples, self._random = settings, binned(features), random
        self._bits: list[OneBit] = []

    def add(self, matrix: PairMatrix) -> Bools:
        """As ``PerceptronLearner.add``."""
        signs = best_signs(matrix, self._random)
        costs = flip_costs(matrix, signs)
        self._bits.append(boosted(self._examples, signs, self._settings, self._random, costs / costs.mean()))
        return self._bits[-1].scores > 0

    def function(self, weights: Floats) -> HashFunction:
        """As ``PerceptronLearner.function``."""
        return replace(stacked(self._bits), weights=weights)


def best_signs(matrix: PairMatrix, random: np.random.Generator) -> Floats:
    """Signs float64[m] from which no flip of one example lowers z'W z; ``matrix`` is the sparse W [m, m]."""
    return flipped(matrix, least_eigenvector_signs(matrix, random).astype(np.float64))


def flipped(matrix: PairMatrix, signs: Floats) -> Floats:
    """``signs`` [m] after flips: each lowers z'W z by the most that one flip can."""
    signs, diagonal = signs.copy(), matrix.diagonal()
    pulled = matrix @ signs
    for _ in range(FLIPS * len(signs)):
        gain = signs * pulled - diagonal  # a flip lowers z'W z by 4 times this
        example = int(gain.argmax())
        if gain[example] <= 1e-12:
            break
        signs[example] = -signs[example]
        row = slice(matrix.indptr[example], matrix.indptr[example + 1])
        pulled[matrix.indices[row]] += 2 * signs[example] * matrix.data[row]
    return signs


def flip_costs(matrix: PairMatrix, signs: Floats) -> Floats:
    """float64[m]: by how much z'W z grows when one example is flipped, divided by 4; 0 or more at a minimum."""
    return np.maximum(matrix.diagonal() - signs * (matrix @ signs), 0)
