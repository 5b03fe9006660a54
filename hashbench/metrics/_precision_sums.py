"""Sums of precision over relevant ranks inside a tie group, the core of every average precision."""

import numpy as np
from numpy.typing import NDArray

from hashbench.metrics._groups import Counts, Groups, share
from hashbench.metrics._prefix import harmonic

Floats = NDArray[np.float64]


def rank_sums(start: Counts, length: Counts) -> tuple[Floats, Floats]:
    """The sums over j = 1 .. length of 1 / (start + j) and of (j - 1) / (start + j), elementwise.

    The second is length - (start + 1) times the first. In a short group far down the ranking this subtraction cancels
    and has an absolute error of a few eps x length. AP multiplies it by at most (relevant items of the group) / length
    and divides it by N^+, so the error of an AP is a few 1e-16 in all.
    """
    stop = start + length
    inverse = harmonic(int(stop.max(initial=0))).between(start, stop)
    return inverse, np.maximum(length - (start + 1) * inverse, 0.0)


def expected(groups: Groups, inside: Counts) -> Floats:
    """G(N0, P0, n, p, m), float64[q, d]: the expected precision, summed over the relevant ranks inside the cutoff.

    Rank j of a group is relevant with probability p / n. If it is, the expected number of relevant items at ranks up
    to it is P0 + 1 + (j - 1) r with r = (p - 1) / (n - 1) [He et al. 2018, eq. 6]. ``inside`` is m, int64[q, d].
    """
    inverse, offset = rank_sums(groups.n_before, inside)
    r = share(np.maximum(groups.p - 1, 0), groups.n - 1)
    return share(groups.p, groups.n) * ((groups.p_before + 1) * inverse + r * offset)


def in_a_row(groups: Groups, start: Counts, length: Counts) -> Floats:
    """The precision summed over ``length`` relevant items of each group at the ranks directly after ``start``."""
    inverse, offset = rank_sums(start, length)
    return (groups.p_before + 1) * inverse + offset


def normalise(totals: Floats, groups: Groups, ranks: Counts, norm: str) -> Floats:
    """``totals`` [q] divided by N^+ (norm ``all``) or by min(N^+, k) (norm ``min``); 0 if the divisor is 0."""
    divisor = groups.n_relevant if norm == "all" else np.minimum(groups.n_relevant, ranks)
    return totals / np.maximum(divisor, 1)
