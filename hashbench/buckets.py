"""How good a table of buckets is: how few items it retrieves, and how pure its buckets are."""

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError


def speed_up(n_retrieved: NDArray[np.integer], n_items: int) -> float:
    """The retrieval speed-up: 1 over the mean share of the ``n_items`` that a query retrieves [Jeong and Song 2018].

    One over the mean and not the mean of ratios, so that a query which retrieves nothing is no infinity.
    ``n_retrieved`` [q] counts the items of each query. Where nothing is retrieved at all it raises HashbenchError.

    >>> speed_up(np.array([10, 30]), 100)
    5.0
    """
    total = int(n_retrieved.sum(dtype=np.int64))
    if total == 0:
        raise HashbenchError("speed-up: nothing was retrieved, so there is nothing to compare with the whole")
    return n_items * len(n_retrieved) / total


def nmi(bucket: NDArray[np.integer], label: NDArray[np.integer]) -> float:
    """The normalised mutual information between the bucket and the label of each item, both [n], in [0, 1].

    Mutual information over the arithmetic mean of the two entropies. Where both entropies are 0 (one bucket, one
    label) the partitions are the same, and it is 1.

    >>> nmi(np.array([7, 7, 9]), np.array([0, 0, 1]))
    1.0
    """
    if bucket.shape != label.shape or bucket.ndim != 1 or len(bucket) == 0:
        raise HashbenchError(f"nmi: buckets {bucket.shape} and labels {label.shape}: one of each for every item")
    _, of_bucket = np.unique(bucket, return_inverse=True)
    _, of_label = np.unique(label, return_inverse=True)
    _, joint = np.unique(of_bucket * (int(of_label.max()) + 1) + of_label, return_counts=True)
    entropies = _entropy(np.bincount(of_bucket)), _entropy(np.bincount(of_label))
    mean = sum(entropies) / 2
    if mean == 0:
        return 1.0
    return float(np.clip((sum(entropies) - _entropy(joint)) / mean, 0.0, 1.0))


def _entropy(counts: NDArray[np.integer]) -> float:
    """The entropy in nats of a partition into parts of these sizes, none of them 0."""
    shares = counts / counts.sum()
    return max(float(-(shares * np.log(shares)).sum()), 0.0)
