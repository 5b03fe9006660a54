"""One run, from data to row: open the data, fit or load the hasher, encode, count, score."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation import provenance
from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.config import MOST_OF_TEXT, json_object
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.execution import Execution
from hashbench.foundation.files import write_text
from hashbench.foundation.parallel import training_threads
from hashbench.learning.contract import (
    BinaryHasher,
    BinaryOutput,
    Counts,
    Hasher,
    Output,
    SavedHasher,
    TrainingFailed,
)
from hashbench.learning.methods import METHODS
from hashbench.learning.training import checkpoint_files, log
from hashbench.running.runs import held_out
from hashbench.running.runs.data import RunData, open_data
from hashbench.running.runs.query_scores import BEST, QUERIES, WORST
from hashbench.running.runs.row import (
    HEADINGS,
    IMPORTED,
    RUN,
    SCHEMA,
    Arithmetic,
    Artefact,
    Row,
    Search,
    Seconds,
    to_line,
)
from hashbench.running.runs.run import Run
from hashbench.scoring import metrics
from hashbench.scoring.codes import binarize
from hashbench.scoring.histogram.ranking import Ranked
from hashbench.scoring.metrics import Metrics, MetricValue

MOST_OF_REASON = MOST_OF_TEXT - 3  # characters: three points follow what is cut
FITTED = "fitted.json"  # the digest of the code that fitted the hasher, and the seconds it took
Searches = dict[Search, dict[str, MetricValue]]
Ranges = Mapping[str, metrics.PerQuery]
# The metrics in every row by distances that are sorted, weighted or asymmetric
OF_SORTED = ("ap", "ndcg@100", "precision@100")


def execute(run: Run, folder: Path, execution: Execution, base: Callable[[], Hasher] | None = None) -> Row:
    """The row of ``run``, whose steps are all done now, with files in ``folder``; ``base`` makes the base's hasher."""
    data = open_data(run, execution)
    if run.method.needs_torch:
        import torch  # noqa: F401  (the threads of what is imported later are not set)
    with training_threads(execution.threads):
        try:
            hasher, train_s = fit(data, folder, execution, base and base())
        except TrainingFailed as failure:
            return failed_row(data, str(failure), execution)
        fitted = time.perf_counter()
        output = encode(hasher, data, execution)
        output.save(folder)
        encoded = time.perf_counter()
        result = scored(output, data, folder, execution)
        score_s = time.perf_counter() - encoded
        row = row_with(  # here, for it says how many threads there are
            data,
            execution,
            **result,
            hasher_bytes=sum(path.stat().st_size for path in folder.glob("hasher.*")) or None,
            seconds=Seconds(train=round(train_s, 3), encode=round(encoded - fitted, 3), score=round(score_s, 3)),
            objective=log.of_objective(folder),
            status="ok",
        )
    card = run.card.model_dump(mode="json", exclude_unset=True)
    write_text(folder / RUN, json.dumps({"row": to_line(row), "card": card}, indent=1) + "\n")
    return row


def scored(output: Output, data: RunData, folder: Path, execution: Execution) -> dict[str, Any]:
    """What a row holds of the codes: metrics, distinct codes, checksums of the counts, which ``folder`` gets."""
    counted = output.count(data.relevance, progress=execution.progress)
    counted.save(folder)
    names = [*data.run.protocol.metrics, *data.run.metrics]
    # of each query by distances that are sorted: recalls with their range over the orders of ties
    of_sorted = Metrics.parse([*OF_SORTED, *names]).where(lambda metric: not metric.needs_radii)
    evaluated = partial(metrics.evaluate_with_extremes, has_range=lambda metric: metric.name.metric == "recall")
    ranked = {search: evaluated(rankings, of_sorted) for search, rankings in counted.ranked.items()}
    _keep_queries(folder, ranked, data.run.metrics)
    artefacts = {name: counts.sha256() for name, counts in counted.by_name.items() if name in get_args(Artefact)}
    if counted.weights_sha256 is not None:
        artefacts["weights"] = counted.weights_sha256
    searches: Searches = {"database": _metrics(counted.database, names), "test": _metrics(counted.test, names)}
    for search, values in ranked.items():
        searches[search] = {name: metrics.summarise(of_queries.values) for name, of_queries in values.items()}
    in_order = {search: searches[search] for search in get_args(Search) if searches.get(search)}
    return {"searches": in_order, "artefacts": artefacts, "distinct_codes": counted.distinct}


def fit(data: RunData, folder: Path, execution: Execution, base: Hasher | None) -> tuple[Hasher, float]:
    """The hasher, fitted and saved, or loaded if this code saved it, and its seconds; no checkpoint is left.

    Raises TrainingFailed; and TimeIsOver where the training stopped at a checkpoint.
    """
    hasher, seconds = _loaded_or_fitted(data, folder, execution, base)
    checkpoint_files.remove(folder)  # not before the hasher is known to be whole: nothing is lost by a kill
    return hasher, seconds


def _loaded_or_fitted(data: RunData, folder: Path, execution: Execution, base: Hasher | None) -> tuple[Hasher, float]:
    run = data.run
    if (seconds := _seconds_of_saved(folder)) is not None:
        with suppress(HashbenchError):  # a hasher that is damaged or gone is fitted again
            return run.method.load(run.settings, SavedHasher(folder, execution.device, base)), seconds
    started = time.perf_counter()
    (folder / FITTED).unlink(missing_ok=True)
    training = data.training(folder, execution, base)
    if execution.eval_every:
        training = replace(training, evaluate=held_out.evaluation(data))
    hasher = run.method.fit(run.settings, training)
    seconds = time.perf_counter() - started
    hasher.save(folder)
    seconds = max(seconds, log.seconds(folder))
    write_text(folder / FITTED, json.dumps({"sources": provenance.sources(), "seconds": seconds}) + "\n")
    return hasher, seconds


def _seconds_of_saved(folder: Path) -> float | None:
    """The training seconds of the hasher saved in ``folder``; None unless this code trained it."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json_object((folder / FITTED).read_text())
        if kept["sources"] == provenance.sources():
            return float(kept["seconds"])
    return None


def encode(hasher: Hasher, data: RunData, execution: Execution) -> Output:
    """The output of ``hasher``, with the activations of the queries if the asymmetric distance is asked for."""
    output = hasher.output(data.search_items, progress=execution.progress)
    if not data.run.asymmetric:
        return output
    binary = cast("BinaryHasher", hasher)
    activations = np.concatenate([binary.encode(items) for items in data.search_items.queries.blocks()])
    return replace(cast("BinaryOutput", output), query=binarize(activations), activations=activations)


def _keep_queries(folder: Path, ranked: Mapping[Ranked, Ranges], names: Sequence[str]) -> None:
    """Writes what tables ask for of each query, float32[q] by the names of ``Row.all_metrics``, and of recalls ends."""
    kept: dict[str, NDArray[np.float32]] = {}
    for search, ranges in ranked.items():
        for name in names:
            scores = ranges[name]
            measure = HEADINGS[search] + name
            kept[measure] = scores.values.astype(np.float32)
            if scores.worst is not None and scores.best is not None:
                kept[measure + WORST] = scores.worst.astype(np.float32)
                kept[measure + BEST] = scores.best.astype(np.float32)
    if kept:
        write_arrays(folder / QUERIES, kept)


def _metrics(counts_by_name: Mapping[str, Counts], more: Sequence[str]) -> dict[str, MetricValue]:
    values: dict[str, MetricValue] = {}
    for counts in counts_by_name.values():
        values |= counts.metrics(more)
    return values


def failed_row(data: RunData, reason: str, execution: Execution) -> Row:
    """The row of a run whose training failed."""
    return row_with(data, execution, seconds=None, status="failed", reason=printable(reason, MOST_OF_REASON))


def row_with(data: RunData, execution: Execution, **result: Any) -> Row:
    """The row of a run with its ``result``, made by this code on this machine, now."""
    name = data.run.name
    device = "cpu"
    if data.run.method.needs_torch:
        from hashbench.learning.training.device import pick_device

        device = str(pick_device(execution.device))
    precision = data.run.settings.precision_on(device, execution.precision)
    versions = provenance.versions()
    if name.budget != IMPORTED and (provider := METHODS.provider(name.method)):
        package, version = provider.rsplit(" ", 1)  # that brings the method
        versions[package] = version
    return Row(
        schema=SCHEMA,
        run=str(name),
        dataset=name.dataset,
        protocol=name.protocol,
        method=name.method,
        budget=name.budget,
        seed=name.seed,
        split_seed=name.split_seed,
        config=name.config,
        config_hash=name.config_hash,
        cell_hash=name.cell_hash,
        settings=name.identity,
        data_sha256=data.dataset.sha256,
        ids_sha256=data.ids.sha256,
        features_sha256=data.features_sha256,
        code=provenance.code(),
        versions=versions,
        hardware=provenance.hardware(device),
        threads=provenance.threads(),
        peak_memory=provenance.peak_memory(),
        utc=provenance.utc(),
        arithmetic=precision and Arithmetic(precision=precision, processes=1),
        **result,
    )
