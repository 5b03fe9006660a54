"""The difference of two methods on the same queries of one or more splits: a paired bootstrap over splits and queries.

A split draws its own queries and training data, so another split is another measurement of the same two methods.
Seeds of training on one split are not: they say how training varies there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices

Floats = NDArray[np.floating]

SAMPLES = 10_000  # of the bootstrap; the smallest p is one in SAMPLES + 1
LEVEL = 0.05  # a difference whose corrected p is less is significant
MOST_DRAWN = 2_000  # queries that are drawn one by one; the mean of more is normal to the third digit of p
BLOCK = 1 << 21  # numbers that are drawn at a time: arrays of 16 MiB, for any number of queries and samples
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
        """True where only queries were resampled: the result holds for this split, and says nothing of another one."""
        return self.n_splits == 1


def compare_paired(
    a: Sequence[Floats], b: Sequence[Floats], *, samples: int = SAMPLES, interval: float = 1 - LEVEL
) -> Paired:
    """The difference of two methods by a paired bootstrap over splits and queries, the same numbers in every call.

    ``a[r]`` and ``b[r]`` [q] are the scores, in [0, 1], of the same queries of split r. A query that is NaN in one of
    them is left out of both.

    A sample draws splits with replacement, then queries with replacement in each drawn split (Davison and Hinkley 1997,
    section 3.8; Field and Welsh 2007). Its t is the deviation of its mean from the measured one, over its own standard
    error between the drawn splits. p is the share of samples whose |t| is at least that of the measured difference; the
    interval reaches a quantile of |t| in standard errors to both sides, so 0 lies outside of the 95% interval where
    p < .05. Such t hold their level with few groups, where the percentiles of the means are too narrow (Cameron,
    Gelbach and Miller 2008). Of one split only its queries are drawn.

    Raises HashbenchError where a split has fewer than two queries with a value, or other queries in a than in b.
    """
    differences = _differences(a, b)
    mean = float(np.mean([split.mean() for split in differences]))
    sign = -1.0 if mean < 0 else 1.0
    # the same samples whichever method is named first, and in any order of splits and queries
    ordered = sorted((np.sort(sign * split) for split in differences), key=lambda split: float(split.mean()))
    if len(ordered) == 1:
        error = _standard_error(ordered[0])
        t_of_samples = _t_over_queries(ordered[0], samples)
    else:
        error = _standard_error(np.array([split.mean() for split in ordered]))
        t_of_samples = _t_over_splits(ordered, samples)
    t = _ratio(abs(mean), error)
    p = (np.count_nonzero(t_of_samples >= t * (1 - ROUNDING)) + 1) / (samples + 1)
    widest = min(samples - 1, int(interval * (samples + 1)))
    half = 0.0
    if error > 0:
        half = float(np.sort(t_of_samples)[widest]) * error
    return Paired(
        a=_mean_of(a, b),
        b=_mean_of(b, a),
        difference=mean,
        low=max(-1.0, mean - half),
        high=min(1.0, mean + half),
        p=float(p) if mean else 1.0,
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


def _standard_error(values: NDArray[np.float64]) -> float:
    """The standard error of the mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _t_over_splits(differences: list[NDArray[np.float64]], samples: int) -> NDArray[np.float64]:
    """|t| of each sample of splits and of queries in them.

    The mean of resampled queries is drawn as a normal number with the variance that resampling gives it, as it is but
    for skewness / sqrt(q).
    """
    means = np.array([split.mean() for split in differences])
    deviations_of_queries = np.array([split.std() / np.sqrt(len(split)) for split in differences])
    n = len(means)
    drawn, normal = _draws(n, samples)
    deviations = (means - means.mean())[drawn] + deviations_of_queries[drawn] * normal
    return _ratio(np.abs(deviations.mean(axis=1)), deviations.std(axis=1, ddof=1) / np.sqrt(n))


@lru_cache(maxsize=1)  # a table compares many lines over the same number of splits
def _draws(n: int, samples: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The splits that each sample draws, [samples, n], and a normal number for each."""
    random = np.random.default_rng(0)
    return random.integers(n, size=(samples, n)), random.standard_normal((samples, n))


def _t_over_queries(differences: NDArray[np.float64], samples: int) -> NDArray[np.float64]:
    """|t| of each sample of the queries of one split."""
    n = len(differences)
    random = np.random.default_rng(0)
    if n > MOST_DRAWN:
        return np.abs(random.standard_t(n - 1, samples))
    deviations = differences - differences.mean()
    blocks = []
    for part in slices(samples, BLOCK // n):
        drawn = deviations[random.integers(n, size=(part.stop - part.start, n), dtype=np.int32)]
        blocks.append(_ratio(np.abs(drawn.mean(axis=1)), drawn.std(axis=1, ddof=1) / np.sqrt(n)))
    return np.concatenate(blocks)


def _ratio(deviation: NDArray[np.float64] | float, error: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """A deviation in standard errors: 0 where there is none, infinite where only the error is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(deviation) > ROUNDING, np.divide(deviation, error), 0.0)
