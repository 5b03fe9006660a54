"""A new bit from weights of pairs, for StructHash and CGH (Lin et al. 2014, eq. 15 and 17).

The bit maximises the sum over pairs (i, n) of weight[i, n] * [bit(i) != bit(n)]. With signs h = -1, +1 that is
(sum of all weights - h'W h) / 2, where W is the symmetric matrix with half of weight[i, n] at (i, n) and at (n, i).
"""

from typing import Any

import numpy as np

from hashbench.contract import Floats
from hashbench.methods._neighbours import Neighbours

PairMatrix = Any  # W, a sparse scipy.sparse.csr_array [m, m]


def pair_matrix(neighbours: Neighbours, pair_weights: Floats) -> PairMatrix:
    """W, scaled so that the absolute values of the pair weights have sum 1."""
    from scipy.sparse import csr_array

    m, width = neighbours.ids.shape
    starts = np.arange(0, m * width + 1, width)
    scaled = pair_weights.ravel() / (2 * np.abs(pair_weights).sum())
    one_way = csr_array((scaled, neighbours.ids.ravel(), starts), shape=(m, m))
    return (one_way + one_way.T).tocsr()


class Perceptrons:
    """Fits linear perceptrons: bit = [inputs @ direction + bias > 0], with ``inputs`` [m, d] of mean 0.

    ``ridge`` regularises the spectral relaxation, and ``iterations`` is the most that L-BFGS makes.
    """

    def __init__(self, inputs: Floats, ridge: float, iterations: int) -> None:
        self.inputs = np.column_stack([inputs, np.ones(len(inputs))])  # the last one is for the bias
        self._gram = self.inputs.T @ self.inputs
        self._gram[np.diag_indices(len(self._gram))] += ridge * np.trace(self._gram) / len(self._gram)
        self._iterations = iterations

    def fit(self, matrix: PairMatrix) -> Floats:
        """Direction and bias [d + 1] of a new bit."""
        from scipy.optimize import minimize

        def value(column: Floats) -> tuple[float, Floats]:
            return smoothed(self.inputs, matrix, column)

        most = {"maxiter": self._iterations}
        found: Floats = minimize(value, self.spectral(matrix), jac=True, method="L-BFGS-B", options=most).x
        return found

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
