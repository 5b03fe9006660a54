"""Measures of a table of buckets: the speed-up (few items are retrieved) and NMI (each bucket holds few classes)."""

from math import comb

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError


def speed_up(n_retrieved: NDArray[np.integer], n_items: int) -> float:
    """The retrieval speed-up: 1 / (mean fraction of the ``n_items`` that a query retrieves) [Jeong and Song 2018].

    It is not the mean of the ratios, which is infinite if a query retrieves nothing. ``n_retrieved`` [q] is the number
    of items that each query retrieves. If no query retrieves anything, HashbenchError is raised.

    >>> speed_up(np.array([10, 30]), 100)
    5.0
    """
    total = int(n_retrieved.sum(dtype=np.int64))
    if total == 0:
        raise HashbenchError("speed-up: nothing was retrieved, so there is nothing to compare with the whole")
    return n_items * len(n_retrieved) / total


def expected_speed_up(d: int, k: int) -> float:
    """The expected ``speed_up`` of random codes that set k of d bits and use all buckets equally.

    1 / (1 - C(d - k, k) / C(d, k)) [Jeong and Song 2018, eq. 11]: one over the probability that two such codes share a
    bucket. For k = 1 no codes do better; for larger k those can whose items share all of their buckets or none.
    Binomials are whole numbers, and the only rounding is that of the result. A k that is not 1 .. d raises
    HashbenchError.

    >>> [round(expected_speed_up(256, k), 1) for k in (1, 2, 3, 4)]
    [256.0, 64.1, 28.7, 16.3]
    """
    if not 1 <= k <= d:
        raise HashbenchError(f"k = {k} of {d} buckets: k from 1 to {d} is expected")
    every = comb(d, k)
    return every / (every - comb(d - k, k))


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
    return _nmi(np.bincount(of_bucket), np.bincount(of_label), joint)


def nmi_of_counts(counts: NDArray[np.integer]) -> float:
    """The normalised mutual information of the contingency table ``counts`` [buckets, labels] of items.

    Buckets and labels without items have no effect. Without any item HashbenchError is raised.

    >>> nmi_of_counts(np.array([[2, 0], [0, 0], [0, 1]]))
    1.0
    """
    if counts.ndim != 2 or not counts.any():
        raise HashbenchError(f"nmi: counts of shape {counts.shape}: [buckets, labels] of one item or more is expected")
    sizes = counts.sum(axis=1), counts.sum(axis=0), counts.ravel()
    return _nmi(*(size[size > 0] for size in sizes))


def _nmi(buckets: NDArray[np.integer], labels: NDArray[np.integer], joint: NDArray[np.integer]) -> float:
    """The normalised mutual information from the sizes of buckets, of labels, and of their intersections ``joint``."""
    entropies = _entropy(buckets), _entropy(labels)
    mean = sum(entropies) / 2
    if mean == 0:
        return 1.0
    return float(np.clip((sum(entropies) - _entropy(joint)) / mean, 0.0, 1.0))


def _entropy(counts: NDArray[np.integer]) -> float:
    """The entropy in nats of a partition into parts of these sizes, none of them 0."""
    shares = counts / counts.sum()
    return max(float(-(shares * np.log(shares)).sum()), 0.0)
