"""Which training examples are relevant to each other, as the supervised shallow methods take it."""

import numpy as np
from numpy.typing import NDArray

from hashbench.contract import TrainingData
from hashbench.relevance.labels import from_labels
from hashbench.training.failure import TrainingFailed

Bools = NDArray[np.bool_]


def relevant_pairs(data: TrainingData) -> Bools:
    """bool[n, n]: whether the level of column j for row i is above 0, with labels or distances as the protocol says.

    The diagonal is as the labels say: an example without a label is not even relevant to itself. Raises TrainingFailed
    if all pairs of two examples are relevant (one class only), or if none is.
    """
    relevance = from_labels(data.labels, data.labels) if data.relevance is None else data.relevance
    n = len(data.items)
    pairs = relevance.block(slice(0, n), slice(0, n)) > 0
    others = pairs.sum() - pairs.diagonal().sum()
    if others in (0, n * (n - 1)):
        which = "none of them is" if others == 0 else "all of them are (is there one class only?)"
        raise TrainingFailed(
            f"the {n} training examples: {which} relevant to each other; relevant and irrelevant pairs are needed"
        )
    return pairs
