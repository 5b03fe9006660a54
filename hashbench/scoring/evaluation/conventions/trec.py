"""The values that trec_eval prints for the whole ranking and the relevant pairs.

- Ties are ordered by descending item name. Names are numbers padded with zeros to one width, as in the run files that
  hashbench writes, so the later item comes first.
- ``map`` and ``map_cut_k`` are divided by all relevant items, ``P_k`` by k even where the database has fewer items.
- ``ndcg`` and ``ndcg_cut_k`` have the level itself as gain, not 2^v - 1.
- A query without relevant items is in no qrels file and is left out.

The run file must hold the whole ranking: of a tie that it cuts, trec_eval reorders only the first items.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.scoring import metrics
from hashbench.scoring.codes import Codes
from hashbench.scoring.evaluation.conventions import Convention, ConventionValue, Values, mean
from hashbench.scoring.histogram import ranking, ties
from hashbench.scoring.metrics import Cutoff, Metrics, NamedMetric
from hashbench.scoring.metrics.ndcg import of_gains
from hashbench.scoring.relevance.labels import Relevance


def evaluate(query: Codes, database: Codes, relevance: Relevance, *, cutoff: int | None = None) -> Values:
    """The measures of the whole ranking, or those at ``cutoff``, by trec_eval's names."""
    ranks: Cutoff | None = None
    if cutoff is None:
        ndcg_name = "ndcg"
        wanted = {"map": NamedMetric.at("ap"), "Rprec": NamedMetric.at("precision", Cutoff("n_relevant"))}
    else:
        ranks = Cutoff("rank", cutoff)
        ndcg_name = f"ndcg_cut_{cutoff}"
        names = {"map_cut": "ap", "P": "precision", "recall": "recall"}
        wanted = {f"{name}_{cutoff}": NamedMetric.at(metric, cutoff) for name, metric in names.items()}
    parts: list[list[NDArray[np.float64]]] = []
    for block in ties.in_order(ranking.hamming(query, database), relevance, last_first):
        ndcg = np.where(block.n_relevant > 0, of_gains(block, block.levels.astype(np.float64), ranks), np.nan)
        parts.append([*metrics.evaluate(block, Metrics(wanted.values())).values(), ndcg])
    values = [np.concatenate(of_blocks) for of_blocks in zip(*parts, strict=True)]
    named = dict(zip([*wanted, ndcg_name], values, strict=True))
    if cutoff is not None:
        named[f"P_{cutoff}"] *= min(cutoff, len(database)) / cutoff
    return {name: ConventionValue(mean(value[~np.isnan(value)])) for name, value in named.items()}


def last_first(distances: NDArray[Any]) -> NDArray[np.intp]:
    """The items of each query by distance, ties in reverse database order, [q, n]."""
    return distances.shape[1] - 1 - np.argsort(distances[:, ::-1], axis=1, kind="stable")


CONVENTION = Convention(
    summary="trec_eval: ties by descending item name, AP over all relevant items, linear gain, empty queries left out",
    source="usnistgov/trec_eval, form_res_rels.c and the m_*.c of each measure",
    evaluate=evaluate,
)
