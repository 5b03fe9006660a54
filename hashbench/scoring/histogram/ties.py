"""Tie policies, the order of items at equal distance: a tie group is split into one group for each level."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.scoring.histogram.counts import Histogram
from hashbench.scoring.histogram.ranking import (
    Distances,
    RankingHistogram,
    blocks,
    finite,
    in_runs,
    of_item,
    without_rank,
)
from hashbench.scoring.relevance.labels import Relevance

Policy = Literal["expected", "best", "worst", "order"]


def apply(histogram: Histogram, policy: Policy) -> Histogram:
    """The histogram whose expected metrics are those of ``histogram`` under ``policy``.

    ``best``: every group in descending order of level; ``worst``: ascending. For AP, NDCG, precision, recall and AUC
    these orders give the largest and the smallest possible value; for ``ap(norm=retrieved)`` they may not, because a
    late relevant item can lower that mean. Memory is that of the histogram times the number of levels.
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
    own_rows: NDArray[np.int64] | None = None,
) -> Iterator[RankingHistogram]:
    """The ranking of each query with ties in database order, in blocks of queries of bounded memory.

    This is the order of a stable sort of the distances; another ``sort`` gives that of other code. A run of items of
    the same level is one group: its order changes no metric. ``own_rows`` [q] are rows of the database (or -1) that are
    left out.
    """
    for rows in blocks(*relevance.shape):
        order = sort(finite(distances(rows)))
        level = np.take_along_axis(relevance.block(rows, slice(0, relevance.shape[1])), order, axis=1)
        ranked = in_runs(level, level, relevance.levels)
        if own_rows is None:
            yield ranked
            continue
        rank = np.where(own_rows[rows] >= 0, (order == own_rows[rows, None]).argmax(axis=1), -1)
        yield without_rank(ranked, rank, of_item(level, rank))
