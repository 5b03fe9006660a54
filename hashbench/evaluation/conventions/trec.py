"""The values that trec_eval prints for the whole ranking and the relevant pairs.

- Ties are ordered by descending item name. Names are numbers padded with zeros to one width, as in the run files that
  hashbench writes, so the later item comes first.
- ``map`` and ``map_cut_k`` are divided by all relevant items, ``P_k`` by k even where the database has fewer items.
- ``ndcg`` and ``ndcg_cut_k`` have the level itself as gain, not 2^v - 1.
- A query without relevant items is in no qrels file and is left out.

The run file must hold the whole ranking: one that ends inside a tie holds only the first items of that tie, and
trec_eval reorders only these.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench import metrics
from hashbench.codes import Codes
from hashbench.evaluation.conventions._convention import Convention, ConventionValue, mean
from hashbench.histogram import Histogram, ranking, ties
from hashbench.metrics import Metrics
from hashbench.metrics.ndcg import of_gains
from hashbench.relevance.labels import Relevance

WHOLE = {"map": "ap", "Rprec": "precision@r", "ndcg": "ndcg"}
CUT = {"map_cut_{}": "ap@{}", "P_{}": "precision@{}", "recall_{}": "recall@{}", "ndcg_cut_{}": "ndcg@{}"}


def evaluate(
    query: Codes, database: Codes, relevance: Relevance, *, cutoff: int | None = None
) -> dict[str, ConventionValue]:
    """The measures of the whole ranking, or those at ``cutoff``, by trec_eval's names."""
    names = WHOLE if cutoff is None else {name.format(cutoff): of.format(cutoff) for name, of in CUT.items()}
    ordered = ties.in_order(ranking.hamming(query, database), relevance, last_first)
    blocks = [_block(block, Metrics.parse(names.values())) for block in ordered]
    values = {name: np.concatenate([block[of] for block in blocks]) for name, of in names.items()}
    if cutoff is not None:
        values[f"P_{cutoff}"] *= min(cutoff, len(database)) / cutoff
    return {name: ConventionValue(mean(value[~np.isnan(value)])) for name, value in values.items()}


def last_first(distances: NDArray[Any]) -> NDArray[np.intp]:
    """The items of each query by distance, ties in reverse database order, [q, n]."""
    return distances.shape[1] - 1 - np.argsort(distances[:, ::-1], axis=1, kind="stable")


def _block(ranked: Histogram, names: Metrics) -> dict[str, NDArray[np.float64]]:
    values = metrics.evaluate(ranked, names)
    for metric in names:
        if metric.name.metric == "ndcg":
            linear = of_gains(ranked, ranked.levels.astype(np.float64), metric.name.cutoff)
            values[str(metric)] = np.where(np.isnan(values[str(metric)]), np.nan, linear)
    return values


CONVENTION = Convention(
    summary="trec_eval: ties by descending item name, AP over all relevant items, linear gain, empty queries left out",
    source="usnistgov/trec_eval, form_res_rels.c and the m_*.c of each measure",
    evaluate=evaluate,
)
