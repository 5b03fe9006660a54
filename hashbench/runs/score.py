"""The metrics that a row holds, from what its run counted."""

from collections.abc import Callable, Mapping
from typing import Any

from hashbench import metrics
from hashbench.hasher import Counts
from hashbench.histogram import Histogram
from hashbench.metrics import MetricValue
from hashbench.sparse.retrieval import Retrieval

# Every row of codes holds these; the kept histogram gives any other metric later, without a new run.
OF_CODES = (
    "ap",
    "ap_worst",
    "ap_best",
    "ap(norm=retrieved)@1000",
    "ap(norm=retrieved)@5000",
    "ndcg",
    "ndcg@100",
    "precision@100",
    "precision@r2",
    "recall@100",
)
# And every row of sparse codes these, from the kept retrieval.
OF_RETRIEVAL = ("suf", "suf@4", "suf@16", "rerank_precision@1", "rerank_precision@4", "rerank_precision@16")


def row_metrics(evidence: Mapping[str, Counts]) -> dict[str, MetricValue]:
    """The metrics of a row, each over the queries, of all that was counted."""
    return {name: value for kind, counts in evidence.items() for name, value in _METRICS_OF[kind](counts).items()}


def _of_histogram(histogram: Histogram) -> dict[str, MetricValue]:
    return {name: metrics.summarise(values) for name, values in metrics.evaluate(histogram, OF_CODES).items()}


def _of_retrieval(retrieval: Retrieval) -> dict[str, MetricValue]:
    names = [*OF_RETRIEVAL, *(["nmi"] if retrieval.contingency is not None else [])]
    return metrics.evaluate_retrieval(retrieval, names)


_METRICS_OF: dict[str, Callable[[Any], dict[str, MetricValue]]] = {
    "histogram": _of_histogram,
    "retrieval": _of_retrieval,
}
