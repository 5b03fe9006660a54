"""The NDCG of a ranking at random, for each way to read a relevance by distance.

A method that learns nothing ranks about at random, so its printed NDCG tells how its authors defined relevance: levels
of true or of squared distances, features with or without their mean, gains of 2^v - 1 or cut off by an integer type.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from hashbench.evaluation.conventions import talr
from hashbench.histogram import Histogram
from hashbench.metrics import ndcg
from hashbench.relevance.distances import DistanceRelevance


@dataclass(frozen=True)
class Reading:
    """One way to read a relevance by distance, and the NDCG of a ranking at random: its mean over all orders."""

    centred: bool  # the mean of the training features is subtracted before items are scaled to unit norm
    squared: bool  # squared distances are compared with the percentiles of distances
    top_gain: int  # the gain of the highest level
    is_own: bool  # the protocol is scored in this way
    n_empty: int  # queries without a relevant item
    ndcg: float  # the mean of the others
    ndcg_with_empty: float  # 1 for each query without one, as in the code of TALR

    def distance(self, printed: float) -> float:
        """The distance of a printed NDCG to the nearer of ``ndcg`` and ``ndcg_with_empty``."""
        return min(abs(self.ndcg - printed), abs(self.ndcg_with_empty - printed))


def readings(kind: str, relevance_of: Callable[[str, bool], DistanceRelevance]) -> list[Reading]:
    """All readings of a relevance by percentiles of the ``kind``; ``relevance_of(kind, centred)`` gives that of one."""
    all_readings = []
    kinds = {"percentiles": False, "released": True}
    for centred, (read_kind, squared) in product((True, False), kinds.items()):
        relevance = relevance_of(read_kind, centred)
        # if all items are tied, the expected NDCG of the one tie is that of a ranking at random
        counts = np.zeros((relevance.shape[0], 1, len(relevance.levels)), np.int64)
        for _, known in relevance.pieces():
            for level in range(len(relevance.levels)):
                counts[:, 0, level] += np.count_nonzero(known.level == level, axis=1)
        tied = Histogram(counts, relevance.levels)
        # the gains of every row, 2^v - 1, and gains in int8
        for is_exact, gains in ((True, ndcg.gains_of(tied.levels)), (False, talr.gains_of(tied.levels))):
            values = ndcg.of_gains(tied, gains)
            has_one = tied.n_relevant > 0
            is_own = is_exact and centred and kind == read_kind
            mean = 0.0
            if has_one.any():
                mean = float(values[has_one].mean())
            with_empty = float(np.where(has_one, values, 1.0).mean())
            all_readings.append(
                Reading(centred, squared, int(gains[-1]), is_own, int((~has_one).sum()), mean, with_empty)
            )
    return all_readings
