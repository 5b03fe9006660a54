"""CGH: codes whose weighted Hamming distances d keep triplets in order, by column generation (Li et al. 2013).

The weights w >= 0 of the bits minimise |w|_1 + C mean of max(0, 1 - margin)^2, over the triplets of a query, then over
queries; the margin is d(query, irrelevant) - d(query, relevant), and the dual variable 2 max(0, 1 - margin).
"""

import numpy as np
import scipy

from hashbench.foundation.lazy import Lazy
from hashbench.learning.contract import Floats
from hashbench.learning.methods._column_generation import ColumnSettings, Rows, column_method
from hashbench.learning.methods._pairs import Bools, Neighbours

loops = Lazy("hashbench.learning.methods._numba")


def triplet_losses(distances: Floats, neighbours: Neighbours) -> tuple[Floats, Floats]:
    """Minus the gradient of the losses by ``distances``, [m, r + s], and the mean squared hinges [m]."""
    weights = np.zeros(distances.shape)
    losses = np.zeros(len(distances))
    loops.squared_hinges(distances, neighbours.r, neighbours.n_relevant, neighbours.n_irrelevant, weights, losses)
    return weights, losses


class TripletMaster:
    """The problem with the bits so far; ``weights`` solve it."""

    def __init__(self, settings: ColumnSettings, neighbours: Neighbours, random: np.random.Generator) -> None:  # noqa: ARG002
        self._settings = settings
        self._neighbours = neighbours
        self._differs = Rows(neighbours.ids.size, np.float64)
        self.weights: Floats = np.zeros(0)
        self.pair_weights = self._losses()[0]  # equal dual variables, for all margins are 0

    def add(self, differs: Bools) -> None:
        """Solves it again with a new bit, from the weights so far."""
        self._differs.add(differs.ravel())
        start = np.append(self.weights, 0.0)
        solved = scipy.optimize.minimize(
            self.value, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(start)
        )
        self.weights = solved.x
        self.pair_weights = self._losses()[0]

    def value(self, weights: Floats) -> tuple[float, Floats]:
        """The objective at ``weights`` [bits], and its gradient [bits]."""
        self.weights = weights
        pair_weights, losses = self._losses()
        of_query = self._settings.C / self._neighbours.n_ranked
        gain = self._differs.products(pair_weights.ravel())
        return float(weights.sum() + of_query * losses.sum()), 1 - of_query * gain

    def _losses(self) -> tuple[Floats, Floats]:
        distances = self._differs.weighted_sum(self.weights)
        return triplet_losses(distances.reshape(self._neighbours.ids.shape), self._neighbours)


METHOD = column_method(ColumnSettings, TripletMaster, identity=("hash_functions",))
