"""How sure a comparison over tasks, seeds and queries is: ranks, the intervals of mean ranks, and which is better."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SAMPLES, LEVEL = 1000, 0.95  # of the bootstrap; the share of them inside an interval


def ranks_of(values: Floats) -> Floats:
    """The ranks along the last axis, 1 for the greatest; equal values have their mean rank, NaN has none.

    >>> ranks_of(np.array([0.5, 0.7, np.nan, 0.5])).tolist()
    [2.5, 1.0, nan, 2.5]
    """
    above, equal = ((op(values[..., None, :], values[..., :, None])).sum(-1) for op in (np.greater, np.equal))
    return np.where(np.isnan(values), np.nan, above + (equal + 1) / 2)


def rank_intervals(results: Sequence[Sequence[Floats | None]], samples: int = SAMPLES) -> list[tuple[float, float]]:
    """The interval of the mean rank of each line, of ``results`` [task][line]: the value of each seed; None: a gap.

    In each sample the seeds of each result are drawn with replacement, task by task and line by line; then the tasks,
    with replacement too. A mean rank is over the drawn tasks that the line has; a sample without one is left out.
    """
    rng, n_tasks = np.random.default_rng(0), len(results)
    ranked = np.empty((samples, n_tasks, len(results[0])))
    for t, of_task in enumerate(results):
        means = np.full((samples, len(of_task)), np.nan)
        for n, seeds in enumerate(of_task):
            if seeds is not None:
                means[:, n] = seeds[rng.integers(len(seeds), size=(samples, len(seeds)))].mean(axis=1)
        ranked[:, t] = ranks_of(means)
    drawn = rng.integers(n_tasks, size=(samples, n_tasks))
    resampled = np.take_along_axis(ranked, drawn[..., None], axis=1)
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    intervals = []
    for of_line in np.moveaxis(resampled, 2, 0):
        means = np.nanmean(of_line[np.isfinite(of_line).any(axis=1)], axis=1)
        low, high = np.quantile(means, tails).tolist() if len(means) else (np.nan, np.nan)
        intervals.append((low, high))
    return intervals


def share_above_zero(pairs: Sequence[Floats], samples: int = SAMPLES) -> float:
    """The probability that the mean difference is above 0, of ``pairs`` of each task, [seeds, queries or 1].

    In each sample the seeds and the queries of each task are drawn with replacement, and then the tasks. The means of
    the drawn tasks are averaged; a sample whose mean is 0 counts half.
    """
    rng = np.random.default_rng(0)
    means = np.empty((samples, len(pairs)))
    for t, pair in enumerate(pairs):
        of_seeds, of_queries = (rng.multinomial(n, np.full(n, 1 / n), size=samples) / n for n in pair.shape)
        means[:, t] = ((of_seeds @ pair) * of_queries).sum(axis=1)
    drawn = rng.integers(len(pairs), size=(samples, len(pairs)))
    differences = np.take_along_axis(means, drawn, axis=1).mean(axis=1)
    return float((differences > 0).mean() + (differences == 0).mean() / 2)
