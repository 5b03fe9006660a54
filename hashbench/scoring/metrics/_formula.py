"""The parts of formulas of a histogram: the ranks of its tie groups, and sums of precision over them."""

from dataclasses import dataclass

import numpy as np

from hashbench.scoring.histogram import Histogram
from hashbench.scoring.metrics._metric import Metric
from hashbench.scoring.metrics._name import Cutoff, MetricName
from hashbench.scoring.metrics._prefix import Floats, Ints, PrefixSums, discount, harmonic

__all__ = ["Cut", "Cutoff", "Floats", "Groups", "Histogram", "Ints", "Metric", "MetricName", "PrefixSums"]
__all__ += ["discount", "over", "rank_sums", "share"]


@dataclass(frozen=True)
class Groups:
    """The tie group at each distance, all int64[q, d]; its items take the ranks n_before + 1 .. n_before + n."""

    n: Ints  # items, n_d
    p: Ints  # relevant items, n_d^+
    n_before: Ints  # N_{d-1}
    p_before: Ints  # N_{d-1}^+

    @staticmethod
    def of(histogram: Histogram) -> "Groups":
        """The groups of each query."""
        n = histogram.at_distance
        p = histogram.relevant
        return Groups(n, p, n.cumsum(axis=1) - n, p.cumsum(axis=1) - p)

    @property
    def n_relevant(self) -> Ints:
        """N^+, int64[q]."""
        return self.p.sum(axis=1)

    def ranks(self, cutoff: Cutoff | None) -> Ints:
        """The number of ranks inside the cutoff, int64[q]; at most the number of database items."""
        n_items = self.n.sum(axis=1)
        if cutoff is None:
            return n_items
        if cutoff.kind == "n_relevant":
            return self.n_relevant
        if cutoff.kind == "radius":
            return self.n[:, : cutoff.value + 1].sum(axis=1)
        return np.minimum(n_items, cutoff.value)

    def inside(self, ranks: Ints) -> Ints:
        """m, int64[q, d]: the number of ranks of each group that are among the first ``ranks`` [q]."""
        return np.clip(ranks[:, None] - self.n_before, 0, self.n)

    def retrieved(self, ranks: Ints) -> Floats:
        """The expected relevant items of each group among the first ``ranks`` [q], float64[q, d]."""
        return self.inside(ranks) * share(self.p, self.n)

    def expected_precision(self, inside: Ints) -> Floats:
        """G(N0, P0, n, p, m), float64[q, d]: the expected precision, summed over the relevant ranks inside the cutoff.

        Rank j of a group is relevant with probability p / n. If it is, the expected number of relevant items at ranks
        up to it is P0 + 1 + (j - 1) r with r = (p - 1) / (n - 1) [He et al. 2018, eq. 6]. ``inside`` is m, int64[q, d].
        """
        inverse, offset = rank_sums(self.n_before, inside)
        r = share(np.maximum(self.p - 1, 0), self.n - 1)
        return share(self.p, self.n) * ((self.p_before + 1) * inverse + r * offset)

    def precision_in_a_row(self, start: Ints, length: Ints) -> Floats:
        """The precision summed over ``length`` relevant items of each group at the ranks directly after ``start``."""
        inverse, offset = rank_sums(start, length)
        return (self.p_before + 1) * inverse + offset

    def average(self, sums: Floats, ranks: Ints, norm: str) -> Floats:
        """The totals of ``sums`` [q, d], divided by N^+ (norm ``all``) or by min(N^+, k) (``min``); 0 if that is 0."""
        divisor = self.n_relevant
        if norm != "all":
            divisor = np.minimum(divisor, ranks)
        return sums.sum(axis=1) / np.maximum(divisor, 1)


def share(part: Ints, whole: Ints) -> Floats:
    """``part / whole``, and 0 where the whole is 0 (then the part is 0 too)."""
    return part / np.maximum(whole, 1)


def rank_sums(start: Ints, length: Ints) -> tuple[Floats, Floats]:
    """The sums over j = 1 .. length of 1 / (start + j) and of (j - 1) / (start + j), elementwise.

    The second is length - (start + 1) times the first. The subtraction has an absolute error of a few eps x length. AP
    multiplies it by at most (relevant items) / length and divides it by N^+, so its error is a few 1e-16 in all.
    """
    stop = start + length
    inverse = harmonic(int(stop.max(initial=0))).between(start, stop)
    return inverse, np.maximum(length - (start + 1) * inverse, 0.0)


@dataclass(frozen=True)
class Cut:
    """The tie group that contains rank k of each query, and the sum over the groups before it; arrays [q]."""

    totals: Floats  # sums over the groups before it
    n_before: Ints
    p_before: Ints
    n: Ints  # its items
    p: Ints  # its relevant items
    m: Ints  # its ranks inside the cutoff
    min_relevant: Ints  # the fewest relevant items that these can hold
    max_relevant: Ints  # the most

    @staticmethod
    def of(groups: Groups, ranks: Ints, sums: Floats) -> "Cut":
        """The group that contains rank ``ranks`` [q]; ``sums`` [q, d] is the sum over all ranks of each group."""
        whole = groups.n_before + groups.n < ranks[:, None]
        at_k = np.arange(len(ranks)), whole.sum(axis=1)  # never an empty group: N_d is below k there
        n_before = groups.n_before[at_k]
        n = groups.n[at_k]
        p = groups.p[at_k]
        m = ranks - n_before
        totals = np.where(whole, sums, 0.0).sum(axis=1)
        return Cut(totals, n_before, groups.p_before[at_k], n, p, m, np.maximum(m - (n - p), 0), np.minimum(m, p))

    def over_retrieved(self, x: Ints, skipped: Ints | int) -> Floats:
        """AP with norm ``retrieved``, float64[q], if x of the m ranks are relevant, all after ``skipped`` ranks."""
        inverse, offset = rank_sums(self.n_before + skipped, x)
        return over(self.totals + (self.p_before + 1) * inverse + offset, self.p_before + x)


def over(sums: Floats, retrieved: Ints) -> Floats:
    """``sums / retrieved``, and 0 where nothing is retrieved."""
    return np.where(retrieved > 0, sums, 0.0) / np.maximum(retrieved, 1)
