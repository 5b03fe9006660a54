"""Normalised mutual information between buckets and classes."""

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.histogram.retrieval import Retrieval
from hashbench.scoring.metrics._formula import Floats, Metric, MetricName


def evaluate(retrieval: Retrieval, name: MetricName) -> Floats:
    """The normalised mutual information of bucket and class over the database items, float64[].

    It is I(B; C) / ((H(B) + H(C)) / 2) [Manning et al. 2008, section 16.3] with I(B; C) = H(B) + H(C) - H(B, C), and 1
    if both entropies are 0, because one bucket and one class are the same partition. Each bucket is a cluster, so an
    item must be in one bucket (k = 1) and have one class; otherwise HashbenchError is raised. Items without a class are
    left out.
    """
    counts = retrieval.contingency
    if counts is None:
        raise HashbenchError(f"metric '{name}' needs buckets with k = 1 and class labels, one of each for an item")
    sum_of_entropies = _entropy(counts.sum(axis=1)) + _entropy(counts.sum(axis=0))
    if sum_of_entropies == 0:
        return np.array(1.0)
    information = sum_of_entropies - _entropy(counts.ravel())
    return np.clip(np.array(information / (sum_of_entropies / 2)), 0.0, 1.0)


def _entropy(sizes: NDArray[np.integer]) -> float:
    """The entropy in nats of a partition into parts of these sizes; empty parts add nothing."""
    shares = sizes[sizes > 0] / sizes.sum()
    return max(float(-(shares * np.log(shares)).sum()), 0.0)


METRIC = Metric(
    summary="normalised mutual information of bucket and class, where an item is in one bucket",
    paper="manning2008introduction",
    source=Retrieval,
    evaluate=evaluate,
)
