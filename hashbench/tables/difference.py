"""Whether two measured values differ by more than the chance of their runs explains."""

from math import atan, cos, exp, lgamma, nan, pi, sqrt
from statistics import fmean, variance

from hashbench.tables.table import Measured

LEVEL = 0.05  # values whose p is less can be told apart
STEPS = 100  # of the integral: p is right to four decimals


def p_value(one: Measured, other: Measured) -> float:
    """The two-sided p of equal means; NaN where one value is of a single run, whose spread is not known.

    By Welch's t-test over the runs: seeds are no pairs, as the random numbers of a run depend on its method too. Over
    several splits that both values have, by the t-test of these pairs: what is hard for one is hard for both.
    """
    if one.std is None or other.std is None:
        return nan
    if len(one.of_splits) > 1 and one.of_splits.keys() == other.of_splits.keys():
        pairs = [mean - other.of_splits[split] for split, mean in one.of_splits.items()]
        difference, parts = fmean(pairs), [(variance(pairs) / len(pairs), len(pairs) - 1)]
    else:
        difference = one.mean - other.mean
        parts = [(of.std**2 / of.n_runs, of.n_runs - 1) for of in (one, other) if of.std is not None]
    total = sum(squared for squared, _ in parts)
    if not total:
        return float(difference == 0)
    return students_p(difference / sqrt(total), total**2 / sum(squared**2 / df for squared, df in parts))


def students_p(t: float, df: float) -> float:
    """The two-sided p of Student's t; here, because scipy.special takes a fifth of a second to import."""
    step = atan(abs(t) / sqrt(df)) / STEPS  # t = sqrt(df) tan(x), and the density of x is as cos(x)^(df - 1)
    inside = step * sum(cos((n + 0.5) * step) ** (df - 1) for n in range(STEPS))
    return 1 - 2 * inside * exp(lgamma((df + 1) / 2) - lgamma(df / 2)) / sqrt(pi)
