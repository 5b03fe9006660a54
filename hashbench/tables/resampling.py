"""How sure a comparison over tasks, seeds and queries is: ranks, the intervals of mean ranks, and which is better."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SAMPLES, LEVEL = 1000, 0.95  # of the bootstrap; the share of them inside an interval


def ranks_of(values: Floats) -> Floats:
    """The ranks in each row of ``values``, 1 for the greatest; equal values have their mean rank, NaN has none.

    >>> ranks_of(np.array([[0.5, 0.7, np.nan, 0.5]])).tolist()
    [[2.5, 1.0, nan, 2.5]]
    """
    from pandas import DataFrame

    ranks: Floats = DataFrame(values).rank(axis=1, ascending=False).to_numpy()
    return ranks


def rank_intervals(results: Sequence[Sequence[Floats | None]]) -> Floats:
    """The intervals of the mean ranks, [lines, 2], of ``results`` [task][line]: the value of each seed; None: a gap.

    In each sample the seeds of each result are drawn with replacement, task by task and line by line; then the tasks,
    with replacement too. A mean rank is over the drawn tasks that the line has; a sample without one is left out.
    """
    rng, n_tasks = np.random.default_rng(0), len(results)
    means = np.full((SAMPLES, n_tasks, len(results[0])), np.nan)
    for t, of_task in enumerate(results):
        for n, seeds in enumerate(of_task):
            if seeds is not None:
                means[:, t, n] = seeds[rng.integers(len(seeds), size=(SAMPLES, len(seeds)))].mean(axis=1)
    ranks = ranks_of(means.reshape(-1, means.shape[2])).reshape(means.shape)
    drawn = rng.integers(n_tasks, size=(SAMPLES, n_tasks))
    ranks = np.take_along_axis(ranks, drawn[..., None], axis=1)
    with np.errstate(invalid="ignore"):  # NaN of a sample in which the line has no task
        mean_ranks = np.nansum(ranks, axis=1) / np.isfinite(ranks).sum(axis=1)
    found = (of_line[np.isfinite(of_line)] for of_line in mean_ranks.T)
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    return np.array([np.quantile(known, tails) if known.size else (np.nan, np.nan) for known in found])


def share_above_zero(pairs: Sequence[Floats]) -> float:
    """The probability that the mean difference is above 0, of ``pairs`` of each task, [seeds, queries or 1].

    In each sample the seeds and the queries of each task are drawn with replacement, and then the tasks. The means of
    the drawn tasks are averaged; a sample whose mean is 0 counts half.
    """
    rng = np.random.default_rng(0)
    means = np.empty((SAMPLES, len(pairs)))
    for t, pair in enumerate(pairs):
        of_seeds, of_queries = (rng.multinomial(n, np.full(n, 1 / n), size=SAMPLES) / n for n in pair.shape)
        means[:, t] = ((of_seeds @ pair) * of_queries).sum(axis=1)
    drawn = rng.integers(len(pairs), size=(SAMPLES, len(pairs)))
    differences = np.take_along_axis(means, drawn, axis=1).mean(axis=1)
    return float((differences > 0).mean() + (differences == 0).mean() / 2)
