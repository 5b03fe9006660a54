"""StructHash: codes that minimise a loss of rankings, by structured SVM and column generation (Lin et al. 2014).

Each bit is a column, found by Algorithm 1. The master problem (eq. 10) learns the weights w of the bits:

    minimise |w|_1 + C xi  with w, xi >= 0  and  w'a + xi >= loss  for each cut (a, loss),

where a cut is one ranking of the neighbours of each query: ``loss`` is its mean loss, and a[b] is the mean of
psi_b(true ranking) - psi_b(ranking), the sum over pairs of pair weight * [bit b differs]. Each round of cutting planes
adds the most violated rankings (eq. 11). The dual variables of the cuts weight the pairs for the next bit (eq. 15, 16).

The most violated rankings with weights w also give the true objective at w. As solutions of the linear programme jump
while cuts are few, a round looks halfway between the solution and the best w so far, and the best w is what is learned.
"""

import numpy as np
from pydantic import Field

from hashbench.contract import Floats, TrainingData
from hashbench.methods._bit_learners import FUNCTIONS
from hashbench.methods._column_generation import ColumnSettings, Master, Rows, fit_columns
from hashbench.methods._neighbours import Neighbours
from hashbench.methods._ranking_losses import Loss, cost_tables, most_violated, random_rankings
from hashbench.methods._shallow import HashFunction, shallow_method
from hashbench.methods._similarity import Bools
from hashbench.training.failure import TrainingFailed

IDLE = 10  # a cut whose dual variable was 0 in so many solutions in a row is dropped


class Settings(ColumnSettings):
    """``loss`` is the ranking loss; ``tolerance`` and ``rounds`` end the cutting planes of a bit.

    They end when the objective is within C ``tolerance`` of its lower bound, or after ``rounds``.
    """

    loss: Loss
    tolerance: float = Field(ge=0)
    rounds: int = Field(ge=1)


class StructuredMaster(Master):
    """Problem 10 with the bits and the cuts so far.

    ``objective`` is |w|_1 + C xi at ``weights``, and ``bound`` is a lower bound of it, the value of the programme.
    """

    def __init__(self, settings: Settings, neighbours: Neighbours, random: np.random.Generator) -> None:
        self._settings, self._neighbours = settings, neighbours
        self._tables = cost_tables(settings.loss, neighbours)
        self._differs, self._cuts = Rows(neighbours.ids.size), Rows(neighbours.ids.size)
        self._matrix: Floats = np.zeros((0, 0))  # [cuts, bits]
        self._losses, self._idle = np.zeros(0), np.zeros(0, np.int64)
        self.weights, self.objective = np.zeros(0), np.inf
        self._solution, self.bound = np.zeros(1), 0.0
        self._duals = np.zeros(0)
        self.pair_weights = random_rankings(neighbours, random)

    def add(self, differs: Bools) -> None:
        """Solves it again with a new bit, and with new cuts."""
        self._differs.add(differs.ravel().astype(np.float32))
        self._matrix = (self._cuts.all @ self._differs.all.T).astype(np.float64)
        self.weights = np.append(self.weights, 0.0)  # with the same objective
        if len(self._losses):
            self._solve()
        for _ in range(self._settings.rounds):
            if self.objective - self.bound <= self._settings.tolerance * self._settings.C:
                break
            self._cut_at((self.weights + self._solution) / 2)
            self._solve()
        self._drop()
        self.pair_weights = (self._duals.astype(np.float32) @ self._cuts.all).reshape(differs.shape).astype(np.float64)

    def _cut_at(self, weights: Floats) -> None:
        """Adds the cut of the rankings that are most violated with ``weights``, which are kept if they are the best."""
        distances = weights.astype(np.float32) @ self._differs.all
        shape, n = self._neighbours.ids.shape, self._neighbours.n_ranked
        pair_weights, losses = most_violated(distances.reshape(shape), self._neighbours, self._tables)
        cut, loss = pair_weights.ravel() / np.float32(n), losses.sum() / n
        effect = (self._differs.all @ cut).astype(np.float64)
        objective = weights.sum() + self._settings.C * (loss - effect @ weights)
        if objective < self.objective:
            self.weights, self.objective = weights, objective
        self._cuts.add(cut)
        self._matrix = np.vstack([self._matrix, effect])
        self._losses, self._idle = np.append(self._losses, loss), np.append(self._idle, 0)

    def _solve(self) -> None:
        from scipy.optimize import linprog

        n_cuts, bits = self._matrix.shape
        cost = np.append(np.ones(bits), self._settings.C)
        cuts = -np.column_stack([self._matrix, np.ones(n_cuts)])
        solved = linprog(cost, A_ub=cuts, b_ub=-self._losses, method="highs")
        if solved.status != 0:
            raise TrainingFailed(f"the linear programme of the weights of {bits} bits: {solved.message}")
        self._solution, self.bound = np.maximum(solved.x[:-1], 0), solved.fun
        self._duals = -solved.ineqlin.marginals
        self._idle = np.where(self._duals > 0, 0, self._idle + 1)

    def _drop(self) -> None:
        """Drops the cuts that were idle for long."""
        kept = self._idle < IDLE
        self._cuts.keep(kept)
        self._matrix, self._losses = self._matrix[kept], self._losses[kept]
        self._duals, self._idle = self._duals[kept], self._idle[kept]


def _fit(settings: Settings, features: Floats, data: TrainingData) -> HashFunction:
    return fit_columns(settings, features, data, StructuredMaster)


METHOD = shallow_method(Settings, _fit, *FUNCTIONS, identity=("loss", "hash_functions"), supervision="relevance")
