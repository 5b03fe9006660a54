"""The row of a run: its metrics, computed from the counts, and what made it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hashbench import metrics
from hashbench.contract import Counted, Counts
from hashbench.foundation import provenance
from hashbench.histogram import Histogram
from hashbench.histogram.retrieval import Retrieval
from hashbench.methods import METHODS
from hashbench.metrics import Metrics, MetricValue
from hashbench.runs.data import RunData
from hashbench.runs.options import Options
from hashbench.runs.row import ACCURACY, SCHEMA, Arithmetic, Artefact, Row, Search, Seconds
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

_COUNTS: tuple[Artefact, ...] = ("histogram", "retrieval", "retrieval_of_test")


def score(evidence: Counted, of_protocol: Sequence[str] = ()) -> dict[Search, dict[str, MetricValue]]:
    """The metrics of each search, computed from ``evidence``; codes have those ``of_protocol`` besides every row's."""
    return {
        "database": _metrics(evidence.database, of_protocol),
        "test": _metrics(evidence.test, of_protocol),
        "weighted": {} if evidence.weighted is None else _of_rankings(evidence.weighted, of_protocol),
    }


def measured_row(
    data: RunData,
    evidence: Counted,
    searches: Mapping[Search, Mapping[str, MetricValue]],
    seconds: Seconds,
    options: Options,
) -> Row:
    """The row of a run that did not fail; ``searches`` holds the metrics of each, those without any are left out."""
    counts = {**evidence.database, **{f"{name}_of_test": each for name, each in evidence.test.items()}}
    sums: dict[Artefact, str | None] = {"weights": evidence.weights_sha256}
    for name in _COUNTS:
        sums[name] = counts[name].sha256() if name in counts else None
    return _row(
        data,
        options,
        searches={search: dict(values) for search, values in searches.items() if values},
        artefacts={name: sha256 for name, sha256 in sums.items() if sha256 is not None},
        distinct_codes=evidence.distinct,
        seconds=seconds,
        status="ok",
    )


def failed_row(data: RunData, reason: str, options: Options) -> Row:
    """The row of a run whose training failed."""
    return _row(data, options, seconds=None, status="failed", reason=reason)


def _row(data: RunData, options: Options, **result: Any) -> Row:
    """The row with this ``result``: what names the run, what it was made from, and what made it."""
    name, device, provider = data.spec.name, "cpu", METHODS.provider(data.spec.name.method)
    if data.spec.method.needs_torch:
        from hashbench.training.device import pick_device

        device = str(pick_device(options.device))
    return Row(
        schema=SCHEMA,
        run=str(name),
        dataset=name.dataset,
        protocol=name.protocol,
        method=name.method,
        settings=name.identity,
        budget=name.budget,
        seed=name.seed,
        split_seed=name.split_seed,
        config=name.config,
        config_hash=name.config_hash,
        cell_hash=name.cell_hash,
        data_sha256=data.dataset.sha256,
        ids_sha256=data.ids.sha256,
        features_sha256=data.features_sha256,
        code=provenance.code(),
        # a method of another package: its name and version
        versions={**provenance.versions(), **(dict([provider.rsplit(" ", 1)]) if provider else {})},
        hardware=provenance.hardware(device),
        threads=provenance.threads(),
        peak_memory=provenance.peak_memory(),
        utc=provenance.utc(),
        arithmetic=_arithmetic(data, options, device),
        **result,
    )


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
    return metrics.mean_values(histogram, Metrics.parse([*OF_CODES, *of_protocol]))


def _of_rankings(rankings: Iterable[Histogram], of_protocol: Sequence[str]) -> dict[str, MetricValue]:
    ranked = Metrics.parse([*OF_WEIGHTED, *of_protocol]).where(lambda metric: not metric.needs_radii)
    return metrics.mean_values(rankings, ranked)


def _of_retrieval(retrieval: Retrieval, of_protocol: Sequence[str]) -> dict[str, MetricValue]:  # noqa: ARG001
    names = [*OF_RETRIEVAL, *(["nmi"] if retrieval.contingency is not None else [])]
    return metrics.mean_values(retrieval, Metrics.parse(names, Retrieval))


def _of_predictions(predictions: Predictions, of_protocol: Sequence[str]) -> dict[str, MetricValue]:  # noqa: ARG001
    return {ACCURACY: metrics.summarise(predictions.is_right.astype(np.float64))}


_METRICS_OF: dict[str, Callable[[Any, Sequence[str]], dict[str, MetricValue]]] = {
    "histogram": _of_histogram,
    "retrieval": _of_retrieval,
    "predictions": _of_predictions,
}
