"""Column generation for StructHash and CGH: each new bit is a new variable (column) of a problem over bit weights.

Its dual variables weight pairs: the next bit maximises the sum of weight[i, n] * [bit(i) != bit(n)] (Lin et al. 2014).
With signs h = -1, +1 that is (sum of all weights - h'W h) / 2, W symmetric with half of weight[i, n] at (i, n).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.parallel import slices
from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import Floats, TrainingData, TrainingFailed
from hashbench.learning.methods._block_cut import least_eigenvector_signs
from hashbench.learning.methods._method import Method
from hashbench.learning.methods._pairs import Bools, Neighbours, random_neighbours
from hashbench.learning.methods._shallow import HashFunction, KernelLinear, Linear, inputs_of, shallow_method
from hashbench.learning.methods._trees import OneBit, Trees, TreeSettings, binned, boosted, stacked

PairMatrix = Any  # W, a sparse scipy.sparse.csr_array [m, m]
DIGITS = 16  # binary ones that a perceptron keeps in its descent
COLUMNS = 1 << 16  # of the rows that are in float64 at a time
FLIPS = 20  # flips for each example at most; far fewer are needed


class ColumnSettings(TreeSettings):
    """Perceptrons of the features or of their responses to ``n_anchors`` training examples, or boosted trees."""

    hash_functions: Literal["linear", "kernel", "trees"]
    n_anchors: int = Field(ge=1)
    ridge: float = Field(gt=0)  # added to the diagonal of X'X in the spectral relaxation, times its mean diagonal
    iterations: int = Field(ge=0)  # the most iterations of L-BFGS for one perceptron
    n_relevant: int = Field(ge=1)  # the random neighbours of each training example that are compared
    n_irrelevant: int = Field(ge=1)
    C: float = Field(gt=0)  # the weight of the loss; the weight of the l1 norm of the bit weights is 1


class Rows:
    """Rows of a matrix, whose space is doubled when it is full; sums over them are float64.

    A sum of float32 has an error of 1e-7 that depends on the processor, and a search for bits makes other bits of it.
    Rows of which sums are often needed are kept in float64, those of which there are many in float32.
    """

    def __init__(self, width: int, kind: type[np.float32] | type[np.float64]) -> None:
        self._columns = list(slices(width, COLUMNS))
        self._kept = [np.empty((64, part.stop - part.start), kind) for part in self._columns]
        self._n = 0

    def _parts(self) -> Iterator[Floats]:
        return (part[: self._n].astype(np.float64, copy=False) for part in self._kept)

    def add(self, row: NDArray[Any]) -> None:
        if self._n == len(self._kept[0]):
            self._kept = [np.concatenate([part, np.empty_like(part)]) for part in self._kept]
        for part, columns in zip(self._kept, self._columns, strict=True):
            part[self._n] = row[columns]
        self._n += 1

    def weighted_sum(self, weights: Floats) -> Floats:
        """The sum [width] of all rows times their ``weights`` [n]."""
        return np.concatenate([weights @ part for part in self._parts()])

    def products(self, other: NDArray[Any]) -> Floats:
        """The products [n] of all rows with the vector ``other`` [width]."""
        others = (other[columns].astype(np.float64, copy=False) for columns in self._columns)
        return self._summed(others)

    def products_of(self, others: "Rows") -> Floats:
        """The products [m, n] of each of the ``others`` with all rows."""
        return self._summed(others._parts())

    def _summed(self, others: Iterator[Floats]) -> Floats:
        products = [other @ part.T for other, part in zip(others, self._parts(), strict=True)]
        return np.asarray(np.sum(products, axis=0))

    def keep(self, which: Bools) -> None:
        for row, kept in enumerate(np.flatnonzero(which)):
            for part in self._kept:
                part[row] = part[kept]
        self._n = int(which.sum())


def column_method(
    settings: type[ColumnSettings],
    # it has the ``weights`` [bits], each 0 or more, and ``pair_weights`` [m, r + s], by how much the next bit should
    # differ in each pair; ``add(differs)`` solves it again with a new bit
    master: Callable[[Any, Neighbours, np.random.Generator], Any],
    identity: tuple[str, ...],
) -> Method:
    """The method that finds its hash functions by column generation with ``master(settings, neighbours, random)``."""

    def fit(chosen: ColumnSettings, features: Floats, data: TrainingData) -> HashFunction:
        random = np.random.default_rng(data.seed)
        neighbours = random_neighbours(data, chosen.n_relevant, chosen.n_irrelevant, random)
        learner = TreeLearner if chosen.hash_functions == "trees" else PerceptronLearner
        bits = learner(chosen, features, random)
        problem = master(chosen, neighbours, random)
        for _ in with_bar(range(chosen.bits), "fitting", "bit", shown=data.execution.progress):
            bit = bits.add(pair_matrix(neighbours, problem.pair_weights))
            problem.add(neighbours.differs(bit))
        if not problem.weights.any():
            raise TrainingFailed("all weights of bits are 0: C is too small for these data")
        return bits.function(problem.weights)

    return shallow_method(settings, fit, Linear, KernelLinear, Trees, identity=identity, supervision="relevance")


def pair_matrix(neighbours: Neighbours, pair_weights: Floats) -> PairMatrix:
    """W, scaled so that the absolute values of the pair weights have sum 1."""
    m, width = neighbours.ids.shape
    starts = np.arange(0, m * width + 1, width)
    scaled = pair_weights.ravel() / (2 * np.abs(pair_weights).sum())
    one_way = scipy.sparse.csr_array((scaled, neighbours.ids.ravel(), starts), shape=(m, m))
    return (one_way + one_way.T).tocsr()


class PerceptronLearner:
    """Perceptrons of features or kernel responses, shifted to mean 0 and divided by one scale for all."""

    def __init__(self, settings: ColumnSettings, features: Floats, random: np.random.Generator) -> None:
        values, self._function = inputs_of(settings.hash_functions, features, settings.n_anchors, random)
        self._mean = values.mean(axis=0)
        self._scale = values.std(axis=0).mean()
        self._perceptrons = Perceptrons((values - self._mean) / self._scale, settings.ridge, settings.iterations)
        self._columns: list[Floats] = []

    def add(self, matrix: PairMatrix) -> Bools:
        """Fits a bit that makes h'W h small, W the ``matrix``; returns its values bool[m] at the training examples."""
        self._columns.append(self._perceptrons.fit(matrix))
        return np.asarray(self._perceptrons.inputs @ self._columns[-1] > 0)

    def function(self, weights: Floats) -> HashFunction:
        columns = np.column_stack(self._columns)
        projection = columns[:-1] / self._scale
        bias = columns[-1] - self._mean @ projection
        return self._function(np.zeros(len(projection)), projection, bias, weights=weights)


class Perceptrons:
    """Fits linear perceptrons: bit = [inputs @ direction + bias > 0], with ``inputs`` [m, d] of mean 0."""

    def __init__(self, inputs: Floats, ridge: float, iterations: int) -> None:
        self.inputs = np.column_stack([inputs, np.ones(len(inputs))])  # the last one is for the bias
        self._gram = self.inputs.T @ self.inputs
        self._gram[np.diag_indices(len(self._gram))] += ridge * np.trace(self._gram) / len(self._gram)
        self._options = {"maxiter": iterations}

    def fit(self, matrix: PairMatrix) -> Floats:
        def objective(column: Floats) -> tuple[float, Floats]:
            value, gradient = smoothed(self.inputs, matrix, rounded(column))
            return value, rounded(gradient)

        start = rounded(self.spectral(matrix))
        return rounded(scipy.optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options=self._options).x)

    def spectral(self, matrix: PairMatrix) -> Floats:
        """The v of the smallest v'X'WXv / v'(X'X + ridge)v, scaled so that Xv has mean square 1: it has no sign(.)."""
        _, vectors = scipy.linalg.eigh(self.inputs.T @ (matrix @ self.inputs), self._gram, subset_by_index=[0, 0])
        values = self.inputs @ vectors[:, 0]
        # the sign of an eigenvector is arbitrary, and so is a bit's: here the first example has 0
        scaled: Floats = vectors[:, 0] / np.sqrt(np.square(values).mean())
        if values[0] > 0:
            return -scaled
        return scaled


def rounded(values: Floats) -> Floats:
    """``values`` to 16 binary digits of the largest one.

    A hundred steps of a descent that is not convex make another bit of a difference of 1e-15, as that between two
    processors. What they round otherwise is lost here at each step.
    """
    _, exponent = np.frexp(np.abs(values).max())
    unit = np.ldexp(1.0, int(exponent) - DIGITS)
    return np.rint(values / unit) * unit


def smoothed(inputs: Floats, matrix: PairMatrix, column: Floats) -> tuple[float, Floats]:
    """The value h'W h with h = tanh(inputs @ column) in place of the sign, and its gradient [d + 1]."""
    h = np.tanh(inputs @ column)
    pulled = matrix @ h
    return float(h @ pulled), inputs.T @ (2 * pulled * (1 - h * h))


class TreeLearner:
    """Boosted trees: signs of the examples that make z'W z small, then trees for these signs."""

    def __init__(self, settings: ColumnSettings, features: Floats, random: np.random.Generator) -> None:
        self._settings = settings
        self._examples = binned(features)
        self._random = random
        self._bits: list[OneBit] = []

    def add(self, matrix: PairMatrix) -> Bools:
        # from the eigenvector of the smallest eigenvalue; an error of the trees costs what a flip would
        signs = flipped(matrix, least_eigenvector_signs(matrix, self._random).astype(np.float64))
        costs = flip_costs(matrix, signs)
        self._bits.append(boosted(self._examples, signs, self._settings, self._random, costs / costs.mean()))
        return self._bits[-1].scores > 0

    def function(self, weights: Floats) -> HashFunction:
        return replace(stacked(self._bits), weights=weights)


def flipped(matrix: PairMatrix, signs: Floats) -> Floats:
    """``signs`` [m] after flips: each lowers z'W z by the most that one flip can, until none lowers it."""
    signs = signs.copy()
    diagonal = matrix.diagonal()
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
