"""The difference of two methods on the same queries: a paired t-test over splits, or over the queries of one split.

A split draws its own queries and training data, so another split is another measurement of the same two methods, and
the mean over its queries varies by both. Seeds of training on one split are no such measurements: they say how training
varies there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError

Floats = NDArray[np.floating]

LEVEL = 0.05  # a difference whose corrected p is less is significant
ROUNDING = 1e-12  # two values of a query that differ by less are equal


@dataclass(frozen=True)
class Paired:
    """The difference of two means, a minus b, with its interval and its two-sided p; all in parts of 1."""

    a: float  # the mean over splits of the means over their queries
    b: float
    difference: float
    low: float
    high: float
    p: float
    n_splits: int
    n_queries: int  # of all splits together, without those that have no relevant item

    @property
    def is_of_one_split(self) -> bool:
        """True where the test is over the queries: the result holds for this split, and says nothing of another one."""
        return self.n_splits == 1


def compare_paired(a: Sequence[Floats], b: Sequence[Floats], *, interval: float = 1 - LEVEL) -> Paired:
    """The difference of two methods by Student's t over splits, or over queries where there is one split.

    ``a[r]`` and ``b[r]`` [q] are the scores, in [0, 1], of the same queries of split r. A query that is NaN in one of
    them is left out of both. The n differences of the splits' means have the standard error s / sqrt(n), and t is their
    mean over it, with n - 1 degrees of freedom; so 0 lies outside of the 95% interval where p < .05. Equal
    differences in all splits have p = 0.

    A bootstrap over splits and queries covers the true difference as often. But with five splits its tail, which the
    correction for many comparisons needs, depends on how close two of the five happen to lie (docs/comparing.md).

    Raises HashbenchError where a split has fewer than two queries with a value, or other queries in a than in b.
    """
    differences = _differences(a, b)
    units = differences[0]
    if len(differences) > 1:
        units = np.array([split.mean() for split in differences])
    n = len(units)
    mean = float(units.mean())
    error = float(units.std(ddof=1)) / np.sqrt(n)
    p = 1.0
    if abs(mean) > ROUNDING:
        with np.errstate(divide="ignore"):
            p = 2 * float(scipy.special.stdtr(n - 1, -abs(np.float64(mean) / error)))
    half = float(scipy.special.stdtrit(n - 1, (1 + interval) / 2)) * error
    return Paired(
        a=_mean_of(a, b),
        b=_mean_of(b, a),
        difference=mean,
        low=max(-1.0, mean - half),
        high=min(1.0, mean + half),
        p=p,
        n_splits=len(differences),
        n_queries=sum(map(len, differences)),
    )


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values of several tests, corrected for their number by Holm's step-down procedure, in their order.

    The k-th smallest of n is multiplied by n - k + 1, and none is smaller than one before it or larger than 1.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(ps, kind="stable")
    corrected = np.empty(len(ps))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, np.asarray(ps)[order] * np.arange(len(ps), 0, -1)))
    return [float(p) for p in corrected]


def _differences(a: Sequence[Floats], b: Sequence[Floats]) -> list[NDArray[np.float64]]:
    """The differences of each split, without queries that have no value."""
    if len(a) != len(b) or not len(a):
        raise HashbenchError(f"{len(a)} and {len(b)} splits: the same splits of both methods are expected")
    differences = []
    for of_a, of_b in zip(a, b, strict=True):
        if len(of_a) != len(of_b):
            raise HashbenchError(f"{len(of_a):,} and {len(of_b):,} queries of a split: the same ones are expected")
        difference = of_a.astype(np.float64) - of_b
        difference = difference[~np.isnan(difference)]
        if len(difference) < 2:
            have = f"{len(difference)} of {len(of_a):,} queries have a relevant item"
            raise HashbenchError(f"{have}: two or more of each split are expected, for one says nothing of others")
        difference[np.abs(difference) < ROUNDING] = 0.0
        differences.append(difference)
    return differences


def _mean_of(scores: Sequence[Floats], others: Sequence[Floats]) -> float:
    """The mean over splits of the means over the queries that both have."""
    kept = [split[~np.isnan(split + other)] for split, other in zip(scores, others, strict=True)]
    return float(np.mean([split.mean(dtype=np.float64) for split in kept]))
