"""Sums of precision over relevant ranks inside a tie group, the core of every average precision."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.metrics._groups import Groups, Ints, share
from hashbench.metrics._prefix import harmonic

Floats = NDArray[np.float64]


def rank_sums(start: Ints, length: Ints) -> tuple[Floats, Floats]:
    """The sums over j = 1 .. length of 1 / (start + j) and of (j - 1) / (start + j), elementwise.

    The second is length - (start + 1) times the first. In a short group far down the ranking this subtraction cancels
    and has an absolute error of a few eps x length. AP multiplies it by at most (relevant items of the group) / length
    and divides it by N^+, so the error of an AP is a few 1e-16 in all.
    """
    stop = start + length
    inverse = harmonic(int(stop.max(initial=0))).between(start, stop)
    return inverse, np.maximum(length - (start + 1) * inverse, 0.0)


def expected(groups: Groups, inside: Ints) -> Floats:
    """G(N0, P0, n, p, m), float64[q, d]: the expected precision, summed over the relevant ranks inside the cutoff.

    Rank j of a group is relevant with probability p / n. If it is, the expected number of relevant items at ranks up
    to it is P0 + 1 + (j - 1) r with r = (p - 1) / (n - 1) [He et al. 2018, eq. 6]. ``inside`` is m, int64[q, d].
    """
    inverse, offset = rank_sums(groups.n_before, inside)
    r = share(np.maximum(groups.p - 1, 0), groups.n - 1)
    return share(groups.p, groups.n) * ((groups.p_before + 1) * inverse + r * offset)


def in_a_row(groups: Groups, start: Ints, length: Ints) -> Floats:
    """The precision summed over ``length`` relevant items of each group at the ranks directly after ``start``."""
    inverse, offset = rank_sums(start, length)
    return (groups.p_before + 1) * inverse + offset


def normalise(totals: Floats, groups: Groups, ranks: Ints, norm: str) -> Floats:
    """``totals`` [q] divided by N^+ (norm ``all``) or by min(N^+, k) (norm ``min``); 0 if the divisor is 0."""
    divisor = groups.n_relevant if norm == "all" else np.minimum(groups.n_relevant, ranks)
    return totals / np.maximum(divisor, 1)


@dataclass(frozen=True)
class Cut:
    """The tie group that contains rank k of each query, and the sum over the groups before it; arrays [q]."""

    totals: Floats  # sums over the groups before it
    n_before: Ints
    p_before: Ints
    n: Ints  # its items
    p: Ints  # its relevant items
    m: Ints  # its ranks inside the cutoff

    @staticmethod
    def of(groups: Groups, ranks: Ints, sums: Floats) -> "Cut":
        """The group that contains rank ``ranks`` [q]; ``sums`` [q, d] is the sum over all ranks of each group."""
        whole = groups.n_before + groups.n < ranks[:, None]
        holds_k = whole.sum(axis=1)[:, None]  # never an empty group: N_d is below k there

        def take(values: Ints) -> Ints:
            return np.take_along_axis(values, holds_k, axis=1)[:, 0]

        n_before, p_before, n, p = map(take, (groups.n_before, groups.p_before, groups.n, groups.p))
        return Cut(np.where(whole, sums, 0.0).sum(axis=1), n_before, p_before, n, p, ranks - n_before)

    @property
    def min_relevant(self) -> Ints:
        """The fewest relevant items that its first m ranks can hold, int64[q]."""
        return np.maximum(self.m - (self.n - self.p), 0)

    @property
    def max_relevant(self) -> Ints:
        """The most relevant items that its first m ranks can hold, int64[q]."""
        return np.minimum(self.m, self.p)

    def over_retrieved(self, x: Ints, skipped: Ints) -> Floats:
        """AP with norm ``retrieved``, float64[q], if x of the m ranks are relevant, all after ``skipped`` ranks."""
        inverse, offset = rank_sums(self.n_before + skipped, x)
        retrieved = self.p_before + x
        found = self.totals + (self.p_before + 1) * inverse + offset
        return np.where(retrieved > 0, found, 0.0) / np.maximum(retrieved, 1)
