"""Losses of a ranking for StructHash, and the ranking that is most violated (Lin et al. 2014, section 4, eq. 11).

In each loss here, the j-th relevant item costs an amount that depends on its position only, that is on j and on a, the
number of irrelevant items before it. So a loss is a table of costs [j, a], and a dynamic programme over the
interleavings of relevant and irrelevant items finds the ranking exactly, for all of them alike.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.contract import Floats
from hashbench.methods._neighbours import Neighbours

Loss = Literal["auc", "ndcg", "precision", "map"]
CUTOFF = 100  # K of NDCG and of Precision-at-K


def auc(p: int, n: int) -> Floats:
    """Costs [p, n + 1] of 1 - AUC, eq. 19: the fraction of pairs of relevant and irrelevant items in wrong order."""
    return np.tile(np.arange(n + 1) / (p * n), (p, 1))


def ndcg(p: int, n: int, cutoff: int = CUTOFF) -> Floats:
    """Costs [p, n + 1] of 1 - NDCG, eq. 21, with S(1) = 1, S(i) = 1 / log2(i) up to ``cutoff``, and 0 after it.

    It is divided by the sum of S over the first min(cutoff, p) positions, so that the perfect ranking has loss 0. The
    paper divides by the sum up to the cutoff. That would multiply the costs of all rankings by one number and add
    another, and neither changes which hash functions and weights (up to their scale) are optimal.
    """
    scores = 1 / np.log2(np.maximum(2, np.arange(1, p + n + 1)))
    scores[cutoff:] = 0
    return _by_position(scores / scores[:p].sum(), p, n)


def precision(p: int, n: int, cutoff: int = CUTOFF) -> Floats:
    """Costs [p, n + 1] of 1 - Precision-at-K, eq. 20, with K = min(cutoff, p), so that a perfect ranking has loss 0."""
    top = min(cutoff, p)
    return _by_position((np.arange(p + n) < top) / top, p, n)


def average_precision(p: int, n: int) -> Floats:
    """Costs [p, n + 1] of 1 - average precision, eq. 22: the j-th relevant item has precision j / (j + a)."""
    j, a = np.arange(1, p + 1)[:, None], np.arange(n + 1)
    return (1 - j / (j + a)) / p


COSTS: dict[Loss, Callable[[int, int], Floats]] = {
    "auc": auc,
    "ndcg": ndcg,
    "precision": precision,
    "map": average_precision,
}


def _by_position(scores: Floats, p: int, n: int) -> Floats:
    """Costs [p, n + 1] of a loss 1 - sum of ``scores`` [p + n] at the positions of relevant items."""
    first = np.arange(p)[:, None]
    return scores[first] - scores[first + np.arange(n + 1)]


@dataclass(frozen=True, eq=False)
class CostTables:
    """The costs of all queries: query i has the table ``costs[which[i]]`` [r, s + 1], filled up with 0."""

    costs: Floats
    which: NDArray[np.int64]


def cost_tables(loss: Loss, neighbours: Neighbours) -> CostTables:
    """The costs of ``loss``; queries with as many relevant and irrelevant neighbours share a table."""
    sizes, which = np.unique(
        np.column_stack([neighbours.n_relevant, neighbours.n_irrelevant]), axis=0, return_inverse=True
    )
    costs = np.zeros((len(sizes), neighbours.r, neighbours.ids.shape[1] - neighbours.r + 1))
    for table, (p, n) in zip(costs, sizes.tolist(), strict=True):
        if p:
            table[:p, : n + 1] = COSTS[loss](p, n)
    return CostTables(costs, which.reshape(-1))


def most_violated(
    distances: NDArray[np.float32], neighbours: Neighbours, tables: CostTables
) -> tuple[NDArray[np.float32], Floats]:
    """The pair weights float32[m, r + s] and the losses float64[m] of the most violated rankings y of eq. 11.

    They maximise loss(y) - w'(psi(true) - psi(y)) given the ``distances`` float32[m, r + s] of pairs. Here
    w'(psi(true) - psi(y)) = sum over pairs of weight * distance, eq. 13: with u = 2 / (p n), the weight of an
    irrelevant neighbour is u times the number of relevant ones that y puts behind it; the weight of a relevant
    neighbour is -u times the number of irrelevant ones that y puts before it.
    """
    from hashbench.methods._ranking_numba import worst_rankings

    weights, losses = np.zeros(distances.shape, np.float32), np.zeros(len(distances))
    numbers = neighbours.r, neighbours.n_relevant, neighbours.n_irrelevant
    worst_rankings(distances, _sorted(distances, neighbours), *numbers, tables.costs, tables.which, weights, losses)
    return weights, losses


def _sorted(distances: NDArray[np.float32], neighbours: Neighbours) -> NDArray[np.int64]:
    """int64[m, r + s]: what sorts the relevant neighbours by distance, then what sorts the irrelevant ones.

    Distances are 0 or more, so their 32 bits sort as whole numbers do. With the column in the lower bits, equal
    distances keep their order, and the sort is several times as fast as a stable sort of the distances.
    """
    known = np.where(neighbours.is_filler, np.float32(np.inf), distances)
    columns = np.concatenate([np.arange(neighbours.r), np.arange(distances.shape[1] - neighbours.r)])
    keys = known.view(np.int32).astype(np.int64) << 32 | columns
    return np.hstack([np.sort(side, axis=1) for side in np.split(keys, [neighbours.r], axis=1)]) & 0xFFFFFFFF


def random_rankings(neighbours: Neighbours, random: np.random.Generator) -> Floats:
    """The pair weights float64[m, r + s], eq. 13, of one random ranking of the neighbours of each query."""
    weights = np.zeros(neighbours.ids.shape)
    for query, (p, n) in enumerate(zip(neighbours.n_relevant.tolist(), neighbours.n_irrelevant.tolist(), strict=True)):
        place = random.permutation(p + n)
        wrong = place[:p, None] > place[None, p:]
        weights[query, :p] = -2 * wrong.mean(axis=1) / p if p else 0
        weights[query, neighbours.r : neighbours.r + n] = 2 * wrong.mean(axis=0) / n if n else 0
    return weights
