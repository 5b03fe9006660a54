"""Success within a Hamming radius."""

import numpy as np
from numpy.typing import NDArray

from hashbench import Histogram, Metric, MetricName


def evaluate(histogram: Histogram, name: MetricName) -> NDArray[np.float64]:
    """1 where a relevant item lies within Hamming radius R of the query, else 0; float64[q]."""
    assert name.cutoff is not None  # cutoff_required: hashbench refuses success without @rR
    found = histogram.relevant[:, : name.cutoff.value + 1].sum(axis=1)
    return np.where(found > 0, 1.0, 0.0)


METRIC = Metric(
    summary="share of queries with a relevant item within Hamming radius R",
    paper="",
    evaluate=evaluate,
    cutoffs=("radius",),
    cutoff_required=True,
)
