"""The values that the test script of HashNet's PyTorch version prints for codes.

- AP@R is divided by the number of relevant items among the first R.
- Ties are in the order of NumPy's default sort of minus the float32 inner product, which is not stable.
- A query without relevant items among the first R is left out of the mean.
- R larger than the database is an error there, and here.

The script itself ranks by real-valued activations, which are hardly ever tied; these are values for codes of -1 and +1.
"""

import numpy as np

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.codes import Codes
from hashbench.scoring.evaluation.conventions import Convention, ConventionValue, Values, at_ranks, mean, with_cutoff
from hashbench.scoring.relevance.labels import Relevance


def evaluate(query: Codes, database: Codes, relevance: Relevance, *, cutoff: int | None = None) -> Values:
    """The MAP, or MAP@cutoff, by name."""
    ranks = cutoff or len(database)
    if ranks > len(database):
        at_most = "R is at most the number of items"
        raise HashbenchError(f"hashnet: R = {ranks} of {len(database)} items stops that code: {at_most}")
    n_bits = query.n_bits
    average, precision = at_ranks(query, database, relevance, ranks, lambda d: 2 * d.astype(np.int32) - n_bits)
    return {with_cutoff("MAP", cutoff): ConventionValue(mean(average[precision > 0]), of_this_machine=True)}


CONVENTION = Convention(
    summary="mAP over the relevant retrieved, queries with none in the top R dropped, unstable order of ties",
    source="thuml/HashNet, pytorch/src/test.py, mean_average_precision",
    evaluate=evaluate,
)
