"""Sums of precision over relevant ranks inside a tie group, the core of every average precision."""

import numpy as np
from numpy.typing import NDArray

from hashbench.metrics._groups import Counts, Groups, share
from hashbench.metrics._prefix import harmonic

Floats = NDArray[np.float64]


def rank_sums(start: Counts, length: Counts) -> tuple[Floats, Floats]:
    """The sums over j = 1 .. length of 1 / (start + j) and of (j - 1) / (start + j), elementwise.

    The second is length - (start + 1) times the first. That subtraction cancels where the group is short and far
    down, and leaves an absolute error of a few eps x length, which no AP can feel: it enters times a factor of at
    most (relevant items of the group) / length and is divided by N^+, so an AP is off by a few 1e-16 in all.
    """
    stop = start + length
    inverse = harmonic(int(stop.max(initial=0))).between(start, stop)
    return inverse, np.maximum(length - (start + 1) * inverse, 0.0)


def expected(groups: Groups, inside: Counts) -> Floats:
    """G(N0, P0, n, p, m), float64[q, d]: the expected precision, summed over the relevant ranks inside the cutoff.

    Rank j of a group is relevant with probability p / n, and then it sees P0 + 1 + (j - 1) r relevant items at
    ranks up to its own, r = (p - 1) / (n - 1) [He et al. 2018, eq. 6]. ``inside`` is m, int64[q, d].
    """
    inverse, offset = rank_sums(groups.n_before, inside)
    r = share(np.maximum(groups.p - 1, 0), groups.n - 1)
    return share(groups.p, groups.n) * ((groups.p_before + 1) * inverse + r * offset)


def in_a_row(groups: Groups, start: Counts, length: Counts) -> Floats:
    """The precision summed over ``length`` relevant items of each group that stand together after rank ``start``."""
    inverse, offset = rank_sums(start, length)
    return (groups.p_before + 1) * inverse + offset


def normalise(totals: Floats, groups: Groups, ranks: Counts, norm: str) -> Floats:
    """The totals [q] over N^+ (norm ``all``) or over min(N^+, k) (norm ``min``); 0 where that is 0."""
    divisor = groups.n_relevant if norm == "all" else np.minimum(groups.n_relevant, ranks)
    return totals / np.maximum(divisor, 1)
