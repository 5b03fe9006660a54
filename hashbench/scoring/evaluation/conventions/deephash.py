"""The values that ``CalcTopMap`` of DeepHash-pytorch prints.

- AP@k is divided by the number of relevant items among the first k.
- Ties are in the order of NumPy's default sort of float32 distances, which is not stable.
- A query without relevant items among the first k scores 0 and is counted.
- Without a cutoff it uses ``topk = -1``, a slice that loses the item ranked last.
"""

import numpy as np

from hashbench.scoring.codes import Codes
from hashbench.scoring.evaluation.conventions import Convention, ConventionValue, Values, at_ranks, mean, with_cutoff
from hashbench.scoring.relevance.labels import Relevance


def evaluate(query: Codes, database: Codes, relevance: Relevance, *, cutoff: int | None = None) -> Values:
    """The mAP, or mAP@cutoff, by name."""
    ranks = cutoff or len(database) - 1
    if ranks == 0:  # one item, and the slice loses it
        return {with_cutoff("mAP", cutoff): ConventionValue(mean(np.zeros(len(query))))}
    average, _ = at_ranks(query, database, relevance, ranks)
    return {with_cutoff("mAP", cutoff): ConventionValue(mean(np.nan_to_num(average)), of_this_machine=True)}


CONVENTION = Convention(
    summary="mAP over the relevant retrieved, empty queries 0, unstable order of ties, last rank lost without a cutoff",
    source="swuxyj/DeepHash-pytorch, utils/tools.py, CalcTopMap",
    evaluate=evaluate,
)
