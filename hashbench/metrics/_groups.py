"""The ranks that each tie group of a histogram takes: items and relevant items in it and before it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._name import Cutoff

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """The tie group at each distance, all int64[q, d]: the items in it and the items before it.

    The items of group d take the ranks n_before + 1 .. n_before + n, in any order; an empty group takes no rank.
    """

    n: Ints  # items, n_d
    p: Ints  # relevant items, n_d^+
    n_before: Ints  # N_{d-1}
    p_before: Ints  # N_{d-1}^+

    @staticmethod
    def of(histogram: Histogram) -> "Groups":
        """The groups of each query."""
        n, p = histogram.at_distance, histogram.relevant
        return Groups(n, p, n.cumsum(axis=1) - n, p.cumsum(axis=1) - p)

    @property
    def n_items(self) -> Ints:
        """N, int64[q]: the database size."""
        return self.n.sum(axis=1)

    @property
    def n_relevant(self) -> Ints:
        """N^+, int64[q]."""
        return self.p.sum(axis=1)

    def ranks(self, cutoff: Cutoff | None) -> Ints:
        """The number of ranks inside the cutoff, int64[q]; at most the number of database items."""
        n_items = self.n_items
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


def share(part: Ints, whole: Ints) -> NDArray[np.float64]:
    """``part / whole``, and 0 where the whole is 0 (then the part is 0 too)."""
    return part / np.maximum(whole, 1)
