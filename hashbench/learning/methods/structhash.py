"""StructHash: codes that minimise a loss of rankings, by structured SVM and column generation (Lin et al. 2014).

The weights w >= 0 of the bits minimise |w|_1 + C xi with w'a + xi >= loss for each cut (a, loss), eq. 10: a ranking for
each query, its mean loss, and a[b] the mean of psi_b(true ranking) - psi_b(ranking). Cuts are the most violated
rankings (eq. 11) halfway between the solution, which jumps while cuts are few, and the best w so far, which is kept.
Their dual variables weight the pairs for the next bit (eq. 15, 16). A loss is a table [j, a]: the j-th relevant item
behind a irrelevant ones costs so much. A dynamic programme finds the most violated ranking exactly.
"""

from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.lazy import Lazy
from hashbench.learning.contract import Floats
from hashbench.learning.methods._column_generation import ColumnSettings, Rows, column_method
from hashbench.learning.methods._pairs import Bools, Neighbours

loops = Lazy("hashbench.learning.methods._numba")

Singles = NDArray[np.float32]
Loss = Literal["auc", "ndcg"]
CUTOFF = 100  # K of NDCG
IDLE = 10  # a cut whose dual variable was 0 in so many solutions in a row is dropped


class Settings(ColumnSettings):
    """A bit ends when the objective is within C ``tolerance`` of its lower bound, or after ``rounds``."""

    loss: Loss
    tolerance: float = Field(ge=0)
    rounds: int = Field(ge=1)


class StructuredMaster:
    """Problem 10 with the bits and the cuts so far; ``objective`` is its value at ``weights``, ``bound`` below."""

    def __init__(self, settings: Settings, neighbours: Neighbours, random: np.random.Generator) -> None:
        self._settings = settings
        self._neighbours = neighbours
        self._tables = cost_tables(settings.loss, neighbours)
        self._differs = Rows(neighbours.ids.size, np.float64)
        self._cuts = Rows(neighbours.ids.size, np.float32)
        self._matrix: Floats = np.zeros((0, 0))  # [cuts, bits]
        self._losses = np.zeros(0)
        self._idle = np.zeros(0, np.int64)
        self.weights: Floats = np.zeros(0)
        self.objective = np.inf
        self._solution = np.zeros(1)
        self.bound = 0.0
        self._duals = np.zeros(0)
        self.pair_weights: Floats = random_rankings(neighbours, random)

    def add(self, differs: Bools) -> None:
        """Solves it again with a new bit, and with new cuts."""
        self._differs.add(differs.ravel())
        self._matrix = self._differs.products_of(self._cuts)
        self.weights = np.append(self.weights, 0.0)  # with the same objective
        if len(self._losses):
            self._solve()
        for _ in range(self._settings.rounds):
            if self.objective - self.bound <= self._settings.tolerance * self._settings.C:
                break
            self._cut_at((self.weights + self._solution) / 2)
            self._solve()
        kept = self._idle < IDLE
        self._cuts.keep(kept)
        self._matrix = self._matrix[kept]
        self._losses = self._losses[kept]
        self._duals = self._duals[kept]
        self._idle = self._idle[kept]
        self.pair_weights = self._cuts.weighted_sum(self._duals).reshape(differs.shape)

    def _cut_at(self, weights: Floats) -> None:
        """Adds the cut of the rankings that are most violated with ``weights``, which are kept if they are the best."""
        # rounded to float32, so that distances that are equal but for the rounding of their sums are tied
        distances = self._differs.weighted_sum(weights).astype(np.float32)
        shape = self._neighbours.ids.shape
        n = self._neighbours.n_ranked
        pair_weights, losses = most_violated(distances.reshape(shape), self._neighbours, self._tables)
        cut = pair_weights.ravel() / np.float32(n)
        loss = losses.sum() / n
        effect = self._differs.products(cut)
        objective = weights.sum() + self._settings.C * (loss - effect @ weights)
        if objective < self.objective:
            self.weights = weights
            self.objective = objective
        self._cuts.add(cut)
        self._matrix = np.vstack([self._matrix, effect])
        self._losses = np.append(self._losses, loss)
        self._idle = np.append(self._idle, 0)

    def _solve(self) -> None:
        n_cuts, bits = self._matrix.shape
        cost = np.append(np.ones(bits), self._settings.C)
        cuts = -np.column_stack([self._matrix, np.ones(n_cuts)])
        solved = scipy.optimize.linprog(cost, A_ub=cuts, b_ub=-self._losses, method="highs")
        self._solution = np.maximum(solved.x[:-1], 0)
        self.bound = solved.fun
        self._duals = -solved.ineqlin.marginals
        self._idle = np.where(self._duals > 0, 0, self._idle + 1)


def auc(p: int, n: int) -> Floats:
    """Costs [p, n + 1] of 1 - AUC, eq. 19: the fraction of pairs of relevant and irrelevant items in wrong order."""
    return np.tile(np.arange(n + 1) / (p * n), (p, 1))


def ndcg(p: int, n: int) -> Floats:
    """Costs [p, n + 1] of 1 - NDCG, eq. 21, with S(1) = 1, S(i) = 1 / log2(i) up to ``CUTOFF``, and 0 after it."""
    # over the sum of S at min(CUTOFF, p) positions, not CUTOFF as in the paper: the optimal functions are equal
    scores = 1 / np.log2(np.maximum(2, np.arange(1, p + n + 1)))
    scores[CUTOFF:] = 0
    scores /= scores[:p].sum()
    first = np.arange(p)[:, None]
    return scores[first] - scores[first + np.arange(n + 1)]


COSTS = {"auc": auc, "ndcg": ndcg}


class CostTables(NamedTuple):
    """The costs of all queries: query i has the table ``costs[which[i]]`` [r, s + 1], filled up with 0."""

    costs: Floats
    which: NDArray[np.int64]


def cost_tables(loss: Loss, neighbours: Neighbours) -> CostTables:
    """The costs of ``loss``; queries with as many relevant and irrelevant neighbours share a table."""
    pairs = np.column_stack([neighbours.n_relevant, neighbours.n_irrelevant])
    sizes, which = np.unique(pairs, axis=0, return_inverse=True)
    costs = np.zeros((len(sizes), neighbours.r, neighbours.ids.shape[1] - neighbours.r + 1))
    for table, (p, n) in zip(costs, sizes.tolist(), strict=True):
        if p:
            table[:p, : n + 1] = COSTS[loss](p, n)
    return CostTables(costs, which.reshape(-1))


def most_violated(distances: Singles, neighbours: Neighbours, tables: CostTables) -> tuple[Singles, Floats]:
    """The pair weights float32[m, r + s] and losses float64[m] of the most violated rankings of eq. 11, by eq. 13."""
    known = np.where(neighbours.is_filler, np.float32(np.inf), distances)
    # the relevant neighbours by distance, then the irrelevant ones
    sides = np.split(known, [neighbours.r], axis=1)
    order = np.hstack([np.argsort(side, axis=1, kind="stable") for side in sides])
    weights = np.zeros(distances.shape, np.float32)
    losses = np.zeros(len(distances))
    numbers = neighbours.r, neighbours.n_relevant, neighbours.n_irrelevant
    loops.worst_rankings(distances, order, *numbers, *tables, weights, losses)
    return weights, losses


def random_rankings(neighbours: Neighbours, random: np.random.Generator) -> Floats:
    """The pair weights float64[m, r + s], eq. 13, of one random ranking of the neighbours of each query."""
    weights = np.zeros(neighbours.ids.shape)
    for query, (p, n) in enumerate(zip(neighbours.n_relevant.tolist(), neighbours.n_irrelevant.tolist(), strict=True)):
        place = random.permutation(p + n)
        wrong = place[:p, None] > place[None, p:]
        if p:
            weights[query, :p] = -2 * wrong.mean(axis=1) / p
        if n:
            weights[query, neighbours.r : neighbours.r + n] = 2 * wrong.mean(axis=0) / n
    return weights


METHOD = column_method(Settings, StructuredMaster, identity=("loss", "hash_functions"))
