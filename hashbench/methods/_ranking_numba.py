"""The compiled part of StructHash and CGH: the most violated rankings, and the triplet loss of all pairs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram.numba_kernel import compiled, inner

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def worst_rankings(
    distances: Singles, order: Ints, r: int, n_relevant: Ints, n_irrelevant: Ints, costs: Doubles, which: Ints,
    weights: Singles, losses: Doubles,
) -> None:  # fmt: skip
    """Writes ``weights`` [m, r + s] and ``losses`` [m] of ``most_violated``; ``order`` sorts each side."""
    best = np.empty(costs.shape[2])
    choice = np.empty(costs.shape[1:], np.int64)
    for q in range(len(distances)):
        p, n = n_relevant[q], n_irrelevant[q]
        if p > 0:
            near, far, table = order[q, :p], order[q, r : r + n], costs[which[q]]
            _interleave(distances[q, :r], near, distances[q, r:], far, table, best, choice)
            losses[q] = _pair_weights(near, far, table, best, choice, weights[q, :r], weights[q, r:])


@inner
def _interleave(
    relevant: Singles, near: Ints, irrelevant: Singles, far: Ints, table: Doubles, best: Doubles, choice: Any
) -> None:
    """The dynamic programme: relevant item j is placed behind a irrelevant ones, and a does not fall with j.

    Then choice[j, a] is the best number, at most a, of irrelevant items before item j, and best[a] the largest value.
    """
    unit = 2 / (len(near) * len(far))
    best[: len(far) + 1] = 0
    for j in range(len(near)):
        distance, ahead, chosen, largest = relevant[near[j]], 0.0, 0, -np.inf
        for a in range(len(far) + 1):
            value = best[a] + table[j, a] - unit * (ahead - a * distance)
            if value > largest:
                largest, chosen = value, a
            best[a], choice[j, a] = largest, chosen
            if a < len(far):
                ahead += irrelevant[far[a]]


@inner
def _pair_weights(
    near: Ints, far: Ints, table: Doubles, best: Doubles, choice: Any, relevant: Singles, irrelevant: Singles
) -> float:
    """Writes the weights of the relevant and irrelevant neighbours of a query; returns the loss of the ranking."""
    p, a, loss = len(near), len(far), 0.0
    unit = 2 / (p * len(far))
    if best[a] <= 0:  # no ranking violates the margin: c = 0 in eq. 10b
        return loss
    for j in range(p - 1, -1, -1):
        a = choice[j, a]
        loss += table[j, a]
        relevant[near[j]] = -unit * a
        for k in range(a):
            irrelevant[far[k]] += unit
    return loss


@compiled
def squared_hinges(
    distances: Singles, r: int, n_relevant: Ints, n_irrelevant: Ints, weights: Singles, losses: Doubles
) -> None:
    """Writes the triplet losses [m] of CGH, and the pair ``weights`` [m, r + s] (see ``cgh.triplet_losses``)."""
    margins = np.empty(distances.shape[1], np.float32)
    for q in range(len(distances)):
        p, n = n_relevant[q], n_irrelevant[q]
        if p > 0:
            margins[:n] = np.float32(1) - distances[q, r : r + n]
            unit = np.float32(2 / (p * n))
            for j in range(p):
                total, squares = 0.0, 0.0
                for k in range(n):
                    hinge = max(np.float32(0), margins[k] + distances[q, j])
                    weights[q, r + k] += unit * hinge
                    total += hinge
                    squares += hinge * hinge
                weights[q, j] = -unit * np.float32(total)
                losses[q] += squares / (p * n)
