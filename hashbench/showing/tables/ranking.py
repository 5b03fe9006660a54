"""Ranks of methods over data sets, and how sure they are: Borda points, ranges of ranks, and who beats whom."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SAMPLES = 1000  # resamples
CUT = 25  # of the resamples, at each end of a range: the middle 95% are inside


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of all methods on one task of a data set, [methods, repeats]; -inf where a run failed."""

    dataset: str
    values: Floats


@dataclass(frozen=True, eq=False)
class Ranking:
    """The Borda points of each method, the first and the last rank of its range, and the share that rows beat columns.

    ``points``, ``low`` and ``high`` are [methods]; ``beats`` is [methods, methods]: the share of the resamples in which
    the method of the row has more points than that of the column; equal points count half.
    """

    points: Floats
    low: Integers
    high: Integers
    beats: Floats


def points_of(scores: Floats) -> Floats:
    """The Borda points of ``scores`` [..., methods]: how many others each method is above; an equal one counts half.

    >>> points_of(np.array([0.5, 0.7, -np.inf, 0.5])).tolist()
    [1.5, 3.0, 0.0, 1.5]
    """
    row = scores[..., :, None]
    column = scores[..., None, :]
    points: Floats = (row > column).sum(axis=-1) + ((row == column).sum(axis=-1) - 1) / 2
    return points


def rank(tasks: Sequence[Scores]) -> Ranking:
    """The ranking of methods by their points on each data set, averaged over data sets.

    The score of a method on a data set is the mean over its tasks and their repeats. A resample draws data sets with
    replacement, and for each data set drawn the repeats of its tasks, the same ones for all methods; it ranks as the
    data themselves are ranked. Methods of equal points share the ranks that they take together.
    """
    resampled = _resampled_points(tasks)
    row = resampled[:, :, None]
    column = resampled[:, None, :]
    first = 1 + (column > row).sum(axis=-1)
    last = (column >= row).sum(axis=-1)
    beats: Floats = (row > column).mean(axis=0) + (row == column).mean(axis=0) / 2
    means = _by_dataset(tasks, [task.values.mean(axis=1) for task in tasks])
    points: Floats = points_of(means).mean(axis=0)
    return Ranking(points, np.sort(first, axis=0)[CUT], np.sort(last, axis=0)[-1 - CUT], beats)


def _resampled_points(tasks: Sequence[Scores]) -> Floats:
    """The sum of the points over the data sets drawn in each resample, [SAMPLES, methods]."""
    rng = np.random.default_rng(0)
    n_datasets = len({task.dataset for task in tasks})
    datasets = rng.integers(n_datasets, size=(SAMPLES, n_datasets))
    means = []
    for task in tasks:
        n_repeats = task.values.shape[1]
        repeats = rng.integers(n_repeats, size=(SAMPLES, n_datasets, n_repeats))
        means.append(np.moveaxis(task.values[:, repeats].mean(axis=-1), 0, -1))
    by_dataset = _by_dataset(tasks, means)
    drawn = np.take_along_axis(by_dataset, datasets[None, :, :, None], axis=0)[0]
    points: Floats = points_of(drawn).sum(axis=1)
    return points


def _by_dataset(tasks: Sequence[Scores], means: Sequence[Floats]) -> Floats:
    """The mean over the tasks of each data set, in order of appearance, of ``means`` of tasks."""
    datasets = dict.fromkeys(task.dataset for task in tasks)
    pairs = list(zip(tasks, means, strict=True))
    return np.stack([np.mean([mean for task, mean in pairs if task.dataset == name], axis=0) for name in datasets])
