"""The ranking as tie groups: what a histogram knows about ranks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._name import At

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """The tie group at each distance, all int64[q, d]: its items and what stands before it.

    Group d holds the ranks n_before + 1 .. n_before + n, in an order that nothing decides; an empty
    group holds none.
    """

    n: Counts  # items, n_d
    p: Counts  # relevant items, n_d^+
    n_before: Counts  # N_{d-1}
    p_before: Counts  # N_{d-1}^+

    @staticmethod
    def of(histogram: Histogram) -> "Groups":
        """The groups of each query."""
        n, p = histogram.at_distance, histogram.relevant
        return Groups(n, p, n.cumsum(axis=1) - n, p.cumsum(axis=1) - p)

    @property
    def n_items(self) -> Counts:
        """N, int64[q]: the database size."""
        return self.n.sum(axis=1)

    @property
    def n_relevant(self) -> Counts:
        """N^+, int64[q]."""
        return self.p.sum(axis=1)

    def ranks(self, at: At | None) -> Counts:
        """How many ranks of each query lie inside the cutoff, int64[q]; never more than the database has."""
        n_items = self.n_items
        if at is None:
            return n_items
        if at.kind == "n_relevant":
            return self.n_relevant
        if at.kind == "radius":
            return self.n[:, : at.value + 1].sum(axis=1)
        return np.minimum(n_items, at.value)

    def inside(self, ranks: Counts) -> Counts:
        """m, int64[q, d]: how many ranks of each group lie among the first ``ranks`` [q]."""
        return np.clip(ranks[:, None] - self.n_before, 0, self.n)


def share(part: Counts, whole: Counts) -> NDArray[np.float64]:
    """``part / whole``, and 0 where the whole is 0 (then the part is 0 too)."""
    return part / np.maximum(whole, 1)
