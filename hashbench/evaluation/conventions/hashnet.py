"""The values that the test script of HashNet's PyTorch version prints for codes.

- AP@R is divided by the number of relevant items among the first R.
- Ties are in the order of NumPy's default sort of minus the float32 inner product, which is not stable.
- A query without relevant items among the first R is left out of the mean.
- R larger than the database is an error there, and here.

The script itself ranks by the real-valued activations of the network, which are hardly ever tied. This file reproduces
what it prints for codes of -1 and +1.
"""

import numpy as np
from numpy.typing import NDArray

from hashbench import metrics
from hashbench.codes import Codes
from hashbench.evaluation.conventions import Convention, ConventionValue, mean, unstable_order, with_cutoff
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram import ranking, ties
from hashbench.metrics import Metrics, NamedMetric
from hashbench.relevance.labels import Relevance

Floats = NDArray[np.float64]


def evaluate(
    query: Codes, database: Codes, relevance: Relevance, *, cutoff: int | None = None
) -> dict[str, ConventionValue]:
    """The MAP, or MAP@cutoff, by name."""
    average, precision = over_retrieved("hashnet", query, database, relevance, cutoff)
    return {with_cutoff("MAP", cutoff): ConventionValue(mean(average[precision > 0]), of_this_machine=True)}


def over_retrieved(
    name: str, query: Codes, database: Codes, relevance: Relevance, cutoff: int | None
) -> tuple[Floats, Floats]:
    """AP@R with norm ``retrieved`` and precision@R, float64[q], in that code's order of ties; NaN for empty queries.

    Raises HashbenchError, in a line that begins with ``name``, for an R larger than the database.
    """
    ranks = len(database) if cutoff is None else cutoff
    if ranks > len(database):
        raise HashbenchError(
            f"{name}: R = {ranks} of {len(database)} items stops that code: R is at most the number of items"
        )

    def minus_similarity(distances: ranking.Array) -> ranking.Array:
        return unstable_order(2 * distances.astype(np.int32) - query.n_bits)

    ordered = ties.in_order(ranking.hamming(query, database), relevance, minus_similarity)
    wanted = Metrics([NamedMetric.at("ap", ranks, norm="retrieved"), NamedMetric.at("precision", ranks)])
    average, precision = metrics.evaluate(ordered, wanted).values()
    return average, precision


CONVENTION = Convention(
    summary="mAP over the relevant retrieved, queries with none in the top R dropped, unstable order of ties",
    source="thuml/HashNet, pytorch/src/test.py, mean_average_precision",
    evaluate=evaluate,
)
