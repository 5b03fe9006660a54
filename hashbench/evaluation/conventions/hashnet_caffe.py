"""The values that the Caffe version of HashNet prints for codes.

They are those of the PyTorch version (``hashnet``), except for a query that has relevant items but none among the first
R: here it scores 0 and is counted. A query without a relevant item in the whole database is left out by both.
"""

import numpy as np

from hashbench.codes import Codes
from hashbench.evaluation.conventions import Convention, ConventionValue, Values, mean, with_cutoff
from hashbench.evaluation.conventions.hashnet import over_retrieved
from hashbench.relevance.labels import Relevance


def evaluate(query: Codes, database: Codes, relevance: Relevance, *, cutoff: int | None = None) -> Values:
    """The MAP, or MAP@cutoff, by name."""
    average, _ = over_retrieved("hashnet-caffe", query, database, relevance, cutoff)
    value = mean(average[~np.isnan(average)])
    return {with_cutoff("MAP", cutoff): ConventionValue(value, of_this_machine=True)}


CONVENTION = Convention(
    summary="mAP over the relevant retrieved, queries with none in the top R score 0, unstable order of ties",
    source="thuml/HashNet, caffe/models/predict/nuswide_81/predict_parallel.py, mean_average_precision",
    evaluate=evaluate,
)
