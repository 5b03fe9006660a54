"""The tie group that contains the cutoff rank."""

from dataclasses import dataclass

import numpy as np

from hashbench.metrics._groups import Counts, Groups
from hashbench.metrics._precision_sums import Floats, rank_sums


@dataclass(frozen=True)
class Cut:
    """The tie group that contains rank k of each query, and the sum over the groups before it; arrays [q]."""

    totals: Floats  # sums over the groups before it
    n_before: Counts
    p_before: Counts
    n: Counts  # its items
    p: Counts  # its relevant items
    m: Counts  # its ranks inside the cutoff

    @staticmethod
    def of(groups: Groups, ranks: Counts, sums: Floats) -> "Cut":
        """The group that contains rank ``ranks`` [q]; ``sums`` [q, d] is the sum over all ranks of each group."""
        whole = groups.n_before + groups.n < ranks[:, None]
        holds_k = whole.sum(axis=1)[:, None]  # never an empty group: N_d is below k there

        def take(values: Counts) -> Counts:
            return np.take_along_axis(values, holds_k, axis=1)[:, 0]

        n_before, p_before, n, p = map(take, (groups.n_before, groups.p_before, groups.n, groups.p))
        return Cut(np.where(whole, sums, 0.0).sum(axis=1), n_before, p_before, n, p, ranks - n_before)

    @property
    def min_relevant(self) -> Counts:
        """The fewest relevant items that its first m ranks can hold, int64[q]."""
        return np.maximum(self.m - (self.n - self.p), 0)

    @property
    def max_relevant(self) -> Counts:
        """The most relevant items that its first m ranks can hold, int64[q]."""
        return np.minimum(self.m, self.p)

    def over_retrieved(self, x: Counts, skipped: Counts) -> Floats:
        """AP with norm ``retrieved``, float64[q], if x of the m ranks are relevant, all after ``skipped`` ranks."""
        inverse, offset = rank_sums(self.n_before + skipped, x)
        retrieved = self.p_before + x
        found = self.totals + (self.p_before + 1) * inverse + offset
        return np.where(retrieved > 0, found, 0.0) / np.maximum(retrieved, 1)
