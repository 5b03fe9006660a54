"""The row of a run: its metrics, computed from the counts, and what made it."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from hashbench import metrics
from hashbench.contract import Counted, Counts
from hashbench.foundation import provenance
from hashbench.histogram import Histogram
from hashbench.histogram.retrieval import Retrieval
from hashbench.methods import METHODS
from hashbench.metrics import Metrics, MetricValue
from hashbench.runs.data import RunData
from hashbench.runs.row import ACCURACY, SCHEMA, Arithmetic, Artefact, Row, Search, Seconds
from hashbench.runs.run import Options
from hashbench.training.classifier import Predictions

Searches = dict[Search, dict[str, MetricValue]]
# the keys of a row that are those of the run's name
OF_NAME = ("dataset", "protocol", "method", "budget", "seed", "split_seed", "config", "config_hash", "cell_hash")
# The metrics in every row of codes; the saved histogram gives any other metric later, without a new run. Then those by
# weighted Hamming distances, of methods that learn weights of their bits; and those of sparse codes.
OF_CODES = ["ap", "ap_worst", "ap_best", "ap(norm=retrieved)@1000", "ap(norm=retrieved)@5000", "ndcg", "ndcg@100"]
OF_CODES += ["precision@100", "precision@r2", "recall@100"]
OF_WEIGHTED = ("ap", "ndcg@100", "precision@100")
OF_RETRIEVAL = ("suf", "suf@4", "suf@16", "rerank_precision@1", "rerank_precision@4", "rerank_precision@16")


def score(evidence: Counted, of_protocol: Sequence[str] = ()) -> Searches:
    """The metrics of each search, computed from ``evidence``; codes have those ``of_protocol`` besides every row's."""
    found = {"database": _metrics(evidence.database, of_protocol), "test": _metrics(evidence.test, of_protocol)}
    if evidence.weighted is not None:
        ranked = Metrics.parse([*OF_WEIGHTED, *of_protocol]).where(lambda metric: not metric.needs_radii)
        found["weighted"] = metrics.mean_values(evidence.weighted, ranked)
    return {search: found[search] for search in get_args(Search) if found.get(search)}


def _metrics(evidence: Mapping[str, Counts], of_protocol: Sequence[str]) -> dict[str, MetricValue]:
    """The metrics of a row, each summarised over the queries, from all counts of a search."""
    found: dict[str, MetricValue] = {}
    for counts in evidence.values():
        match counts:
            case Histogram():
                found |= metrics.mean_values(counts, Metrics.parse([*OF_CODES, *of_protocol]))
            case Retrieval():
                names = [*OF_RETRIEVAL, *(["nmi"] if counts.contingency is not None else [])]
                found |= metrics.mean_values(counts, Metrics.parse(names, Retrieval))
            case Predictions():
                found[ACCURACY] = metrics.summarise(counts.is_right.astype(np.float64))
    return found


def measured_row(data: RunData, evidence: Counted, searches: Searches, seconds: Seconds, options: Options) -> Row:
    """The row of a run that did not fail; ``searches`` holds the metrics of each."""
    sums = {name: counts.sha256() for name, counts in evidence.by_name.items() if name in get_args(Artefact)}
    weights = {} if evidence.weights_sha256 is None else {"weights": evidence.weights_sha256}
    result = {"searches": searches, "artefacts": sums | weights, "distinct_codes": evidence.distinct}
    return _row(data, options, **result, seconds=seconds, status="ok")


def failed_row(data: RunData, reason: str, options: Options) -> Row:
    """The row of a run whose training failed."""
    return _row(data, options, seconds=None, status="failed", reason=reason)


def _row(data: RunData, options: Options, **result: Any) -> Row:
    """The row with this ``result``: what names the run, what it was made from, and what made it."""
    run, name, compute = data.run, data.run.name, options.compute
    device, provider = "cpu", METHODS.provider(name.method)
    if run.method.needs_torch:
        from hashbench.training.device import pick_device

        device = str(pick_device(options.device))
    precision = run.settings.precision_on(device, compute)
    how: dict[str, Any] = {key: getattr(compute, key) for key in ("compiled", "channels_last")}
    arithmetic = precision and Arithmetic(precision=precision, **how, processes=options.group.size)
    return Row(
        schema=SCHEMA,
        run=str(name),
        **{key: getattr(name, key) for key in OF_NAME},
        settings=name.identity,
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
        arithmetic=arithmetic,
        **result,
    )
