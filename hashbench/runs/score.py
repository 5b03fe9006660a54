"""The row of a run: its metrics, computed from the counts, with the code version, the machine and the seconds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench import metrics
from hashbench.contract import Counts, Evidence
from hashbench.foundation import provenance
from hashbench.histogram import Histogram
from hashbench.histogram.retrieval import Retrieval
from hashbench.methods import METHODS
from hashbench.metrics import Metrics, MetricValue
from hashbench.runs.data import RunData
from hashbench.runs.options import Options
from hashbench.runs.store import ACCURACY, SCHEMA, Arithmetic, Row, Seconds
from hashbench.training.classifier import Predictions

# The metrics in every row of codes. The saved histogram gives any other metric later, without a new run.
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
# The metrics by weighted Hamming distances, in the rows of methods that learn weights of their bits.
OF_WEIGHTED = ("ap", "ndcg@100", "precision@100")
# The metrics in every row of sparse codes, from the saved retrieval.
OF_RETRIEVAL = ("suf", "suf@4", "suf@16", "rerank_precision@1", "rerank_precision@4", "rerank_precision@16")


class RowMetrics(NamedTuple):
    """The metrics of a row: of the queries among the database, and of the queries among each other.

    ``weighted`` are those of the queries among the database by the weighted Hamming distance.
    """

    database: dict[str, MetricValue]
    test: dict[str, MetricValue]
    weighted: dict[str, MetricValue]


def score(evidence: Evidence, of_protocol: Sequence[str] = ()) -> RowMetrics:
    """The metrics computed from ``evidence``; codes have the metrics ``of_protocol`` besides those of every row."""
    return RowMetrics(
        _metrics(evidence.database, of_protocol),
        _metrics(evidence.test, of_protocol),
        {} if evidence.weighted is None else _of_rankings(evidence.weighted, of_protocol),
    )


def measured_row(data: RunData, evidence: Evidence, metrics: RowMetrics, seconds: Seconds, options: Options) -> Row:
    """The row of a run that did not fail."""
    return Row(
        metrics=metrics.database,
        metrics_of_test=metrics.test,
        metrics_weighted=metrics.weighted,
        seconds=seconds,
        distinct_codes=evidence.distinct,
        histogram_sha256=_sha256(evidence.database.get("histogram")),
        retrieval_sha256=_sha256(evidence.database.get("retrieval")),
        retrieval_of_test_sha256=_sha256(evidence.test.get("retrieval")),
        weights_sha256=evidence.weights_sha256,
        status="ok",
        **_identity(data, options),
    )


def failed_row(data: RunData, reason: str, options: Options) -> Row:
    """The row of a run whose training failed."""
    return Row(
        metrics={}, histogram_sha256=None, seconds=None, status="failed", reason=reason, **_identity(data, options)
    )


def _sha256(counts: Counts | None) -> str | None:
    return None if counts is None else counts.sha256()


def _identity(data: RunData, options: Options) -> dict[str, Any]:
    spec, device = data.spec, _device(data, options)
    return {
        "schema": SCHEMA,
        "run": spec.run,
        "dataset": spec.dataset,
        "protocol": spec.protocol,
        "method": spec.method,
        "settings": spec.identity,
        "budget": spec.budget,
        "seed": spec.seed,
        "split_seed": spec.split_seed,
        "config": spec.config,
        "config_hash": spec.config_hash,
        "cell_hash": spec.cell_hash,
        "data_sha256": data.dataset.sha256,
        "ids_sha256": data.ids.sha256,
        "features_sha256": data.features_sha256,
        "code": provenance.code(),
        "versions": provenance.versions() | _outside_package(spec.method),
        "hardware": provenance.hardware(device),
        "utc": provenance.utc(),
        "arithmetic": _arithmetic(data, options, device),
    }


def _outside_package(method: str) -> dict[str, str | None]:
    """The name and version of the package that brings ``method``; nothing where it is of hashbench."""
    provider = METHODS.provider(method)
    return {} if provider is None else {provider.rpartition(" ")[0]: provider.rpartition(" ")[2]}


def _device(data: RunData, options: Options) -> str:
    if not METHODS.get(data.spec.method).needs_torch:
        return "cpu"
    from hashbench.training.device import pick_device

    return str(pick_device(options.device))


def _arithmetic(data: RunData, options: Options, device: str) -> Arithmetic | None:
    compute = options.compute
    precision = data.spec.settings.precision_on(device, compute)
    if precision is None:
        return None
    return Arithmetic(
        precision=precision,
        compiled=compute.compiled,
        channels_last=compute.channels_last,
        processes=options.group.size,
    )


def _metrics(evidence: Mapping[str, Counts], of_protocol: Sequence[str]) -> dict[str, MetricValue]:
    """The metrics of a row, each summarised over the queries, from all counts."""
    found = (_METRICS_OF[kind](counts, of_protocol) for kind, counts in evidence.items())
    return {name: value for values in found for name, value in values.items()}


def _of_histogram(histogram: Histogram, of_protocol: Sequence[str]) -> dict[str, MetricValue]:
    return _summarised(metrics.evaluate(histogram, Metrics.parse([*OF_CODES, *of_protocol])))


def _of_rankings(rankings: Iterable[Histogram], of_protocol: Sequence[str]) -> dict[str, MetricValue]:
    ranked = Metrics.parse([*OF_WEIGHTED, *of_protocol]).where(lambda metric: not metric.needs_radii)
    return _summarised(metrics.evaluate(rankings, ranked))


def _summarised(values: Mapping[str, NDArray[np.float64]]) -> dict[str, MetricValue]:
    return {name: metrics.summarise(of_queries) for name, of_queries in values.items()}


def _of_retrieval(retrieval: Retrieval, of_protocol: Sequence[str]) -> dict[str, MetricValue]:  # noqa: ARG001
    names = [*OF_RETRIEVAL, *(["nmi"] if retrieval.contingency is not None else [])]
    return metrics.evaluate_retrieval(retrieval, Metrics.parse(names, Retrieval))


def _of_predictions(predictions: Predictions, of_protocol: Sequence[str]) -> dict[str, MetricValue]:  # noqa: ARG001
    return _summarised({ACCURACY: predictions.is_right.astype(np.float64)})


_METRICS_OF: dict[str, Callable[[Any, Sequence[str]], dict[str, MetricValue]]] = {
    "histogram": _of_histogram,
    "retrieval": _of_retrieval,
    "predictions": _of_predictions,
}
