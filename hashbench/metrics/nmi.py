"""ChannelNormalisation mutual information between buckets and classes."""

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import MetricName
from hashbench.sparse.buckets import nmi_of_counts
from hashbench.sparse.retrieval import Retrieval


def evaluate(retrieval: Retrieval, name: MetricName) -> NDArray[np.float64]:
    """The mutual information over the mean of the two entropies, float64[], of the items that were searched.

    Each bucket is a cluster, so an item must be in one bucket (k = 1) and have one class; else it raises
    HashbenchError. Items without a class are left out [Manning et al. 2008, section 16.3].
    """
    if retrieval.contingency is None:
        raise HashbenchError(f"metric '{name}' needs buckets with k = 1 and class labels, one of each for an item")
    return np.array(nmi_of_counts(retrieval.contingency))


METRIC = Metric(
    summary="normalised mutual information of bucket and class, where an item is in one bucket",
    paper="manning2008introduction",
    of=Retrieval,
    evaluate=evaluate,
)
