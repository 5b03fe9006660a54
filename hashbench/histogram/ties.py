"""Tie policies: the order that items at equal distance are assumed to have.

A policy transforms the histogram; the formulas of the metrics stay the same. Items of the same level are
interchangeable, so a tie group is put in a definite order by splitting it into one group for each level.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import unknown
from hashbench.histogram.counts import Histogram
from hashbench.histogram.ranking import Distances, RankingHistogram, blocks, finite, in_runs, of_item, without_rank
from hashbench.relevance.labels import Relevance

Policy = Literal["expected", "best", "worst", "order"]


def check(policy: str) -> Policy:
    """``policy`` itself; raises HashbenchError for one that does not exist."""
    if policy not in get_args(Policy):
        raise unknown("tie policy", policy, get_args(Policy))
    return cast(Policy, policy)


def apply(histogram: Histogram, policy: Policy) -> Histogram:
    """The histogram whose expected metrics are those of ``histogram`` under ``policy``.

    ``expected``: unchanged. ``best``: every group in descending order of level; ``worst``: ascending. For AP, NDCG,
    precision, recall and AUC these orders give the largest and the smallest possible value. For ``ap(norm=retrieved)``
    they may not, because a late relevant item can lower that mean. ``order`` needs more than a histogram: ``in_order``
    computes it. Memory is that of the histogram times the number of levels.

    >>> tied = Histogram(np.array([[[1, 2]]]), np.array([0, 1]))
    >>> apply(tied, "best").counts.tolist()
    [[[0, 2], [1, 0]]]
    """
    if policy == "expected":
        return histogram
    assert policy != "order", "in_order makes that one"
    n_queries, n_groups, n_levels = histogram.counts.shape
    split = histogram.counts[:, :, :, None] * np.eye(n_levels, dtype=np.int64)
    if policy == "best":
        split = split[:, :, ::-1]
    return RankingHistogram(split.reshape(n_queries, n_groups * n_levels, n_levels), histogram.levels)


def stable(distances: NDArray[Any]) -> NDArray[np.intp]:
    """The items of each query by distance, ties in database order, [q, n]."""
    return np.argsort(distances, axis=1, kind="stable")


def in_order(
    distances: Distances,
    relevance: Relevance,
    sort: Callable[[NDArray[Any]], NDArray[np.intp]] = stable,
    *,
    own: NDArray[np.int64] | None = None,
) -> Iterator[RankingHistogram]:
    """The ranking of each query with ties in database order, in blocks of queries of bounded memory.

    This is the order of a stable sort of the distances, so a value published that way can be checked to the last digit.
    Another ``sort`` gives the order of other code. A run of items of the same level is one group: the order within it
    changes no metric. ``own`` [q] is the row of each query in the database (-1: none), which is left out of its
    ranking.
    """
    for rows in blocks(*relevance.shape):
        order = sort(finite(distances(rows)))
        level = np.take_along_axis(relevance.block(rows, slice(0, relevance.shape[1])), order, axis=1)
        ranked = in_runs(level, level, relevance.levels)
        if own is None:
            yield ranked
            continue
        rank = np.where(own[rows] >= 0, (order == own[rows, None]).argmax(axis=1), -1)
        yield without_rank(ranked, rank, of_item(level, rank))
