"""One cell, run: train, encode, score, store."""

import fcntl
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import Percentiles, Protocol
from hashbench.datasets.relevance import relevance_of_training
from hashbench.datasets.split import Split, of_first_classes, split
from hashbench.datasets.store import Dataset, open_dataset
from hashbench.errors import CheckFailed, HashbenchError
from hashbench.files import require_writable, write_text
from hashbench.hasher import Hasher, SavedHasher, SparseHasher, TrainingData
from hashbench.methods import METHODS
from hashbench.parallel import ALONE, USUAL, ComputeOptions, ProcessGroup
from hashbench.runs import provenance
from hashbench.runs.encode import encode_protocol
from hashbench.runs.score import Scores, score_codes
from hashbench.runs.spec import RunSpec, of_row
from hashbench.runs.store import SCHEMA, Arithmetic, Row, Seconds, Store
from hashbench.training import log
from hashbench.training.failure import TrainingFailed
from hashbench.training.settings import DeepSettings, TrainingSettings, precision_of

AnyHasher = Hasher | SparseHasher


@dataclass(frozen=True)
class Options:
    """How to run. This changes the arithmetic and nothing else; the row says which it was.

    ``group`` is that of this process among those that run the cell together: the first calls ``run``, the others
    ``follow``. ``weights`` is the file of pretrained weights, where it is not the official one in the data folder.
    """

    device: str = "auto"
    progress: bool = False
    checkpoint_every_s: float = 10.0
    group: ProcessGroup = ALONE
    compute: ComputeOptions = USUAL
    weights: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device):
            raise HashbenchError(f"device {self.device!r}: one of auto, cpu, cuda, cuda:N")


def run(experiment: RunSpec, store: Store, options: Options = Options()) -> Row:
    """The row of ``experiment``: as stored if it was run before, else measured now and stored.

    A run that training gives up on is stored as a failed row, and tried again when asked for again. A killed
    one continues from its checkpoint.
    """
    _require_labels(experiment)
    provenance.code()  # of the code that starts, not of what the tree holds hours later
    with _joined(experiment, options) as joined:
        return _run(experiment, store, joined)


def follow(experiment: RunSpec, store: Store, options: Options) -> None:
    """Does this process's share of what ``run`` does in the first one; writes nothing."""
    _require_labels(experiment)
    with _joined(experiment, options) as joined:
        if not _is_needed(joined.group, answer=False):
            return
        dataset, ids = open_protocol(experiment)
        try:
            hasher = _fit(experiment, dataset, ids, store.run_folder(experiment.run), joined)
            assert not isinstance(hasher, SparseHasher), "joined processes train codes of bits"
        except TrainingFailed:  # in the first process too, which stores the row
            return
        encode_protocol(hasher, dataset, ids, progress=False, group=joined.group)


@contextmanager
def _joined(experiment: RunSpec, options: Options) -> Iterator[Options]:
    """The options on this process's own device; inside, the processes can talk."""
    if options.group.is_alone:
        yield options
        return
    if not isinstance(experiment.settings, DeepSettings):
        raise HashbenchError(f"{experiment.method} trains in one process: without torchrun")
    from hashbench.training import distributed

    own = replace(options, device=distributed.device_for(options.group, options.device))
    with distributed.joined(own.group, own.device):
        yield own


def _is_needed(group: ProcessGroup, *, answer: bool) -> bool:
    """Whether there is something to measure: the first process's answer, in all."""
    if group.is_alone:
        return answer
    from hashbench.training import distributed

    return distributed.from_first(answer, group)


def _run(experiment: RunSpec, store: Store, options: Options) -> Row:
    if (kept := _kept(experiment, store)) is not None:
        _is_needed(options.group, answer=False)
        return kept
    folder = store.run_folder(experiment.run)
    for place in (folder, store.row_path(experiment.dataset, experiment.protocol, experiment.run).parent):
        require_writable(place)
    with _alone_in(folder):
        kept = _kept(experiment, store)  # made by the process that was here before us
        if not _is_needed(options.group, answer=kept is None) and kept is not None:
            return kept
        row = _measure(experiment, store, options)
        store.write(row)
    return row


def _kept(experiment: RunSpec, store: Store) -> Row | None:
    row = store.find(experiment.dataset, experiment.protocol, experiment.run)
    return row if row is not None and row.status == "ok" else None


def _require_labels(experiment: RunSpec) -> None:
    method = METHODS.get(experiment.method)
    by_distance = isinstance(protocol_of(experiment).relevance, Percentiles) and method.learns_distances
    if method.needs_labels and not by_distance and load_card(experiment.dataset).labels == "none":
        free = ", ".join(name for name in METHODS.names if not METHODS.get(name).needs_labels)
        wants, has = (
            ("labels or percentiles of distances", "neither") if method.learns_distances else ("labels", "none")
        )
        raise HashbenchError(
            f"{experiment.method} learns from {wants}, and {experiment.dataset} has {has}: these need none: {free}"
        )


@contextmanager
def _alone_in(folder: Path, *, wait: bool = False) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            raise HashbenchError(f"{folder}: another process is running this cell: wait for it") from None
        for left in folder.glob(".*.part"):  # of a process that was killed while it wrote
            left.unlink()
        yield


def _measure(experiment: RunSpec, store: Store, options: Options) -> Row:
    folder = store.run_folder(experiment.run)
    dataset, ids = open_protocol(experiment)
    text = json.dumps({**experiment.config, "seed": experiment.seed}, indent=1, sort_keys=True)
    write_text(folder / "config.json", text + "\n")
    try:
        base = None if experiment.base is None else _base(experiment.base, store, options)
        started = time.perf_counter()
        hasher = _fit(experiment, dataset, ids, folder, options, base)
        hasher.save(folder)
    except TrainingFailed as failure:
        return _row(experiment, dataset, ids, options, reason=str(failure))
    trained = time.perf_counter()
    scores = _scores(experiment, hasher, dataset, ids, folder, options)
    seconds = Seconds(
        train=round(max(trained - started, log.seconds(folder)), 3),
        encode=round(scores.encode_s, 3),
        score=round(time.perf_counter() - trained - scores.encode_s, 3),
    )
    return _row(experiment, dataset, ids, options, scores=scores, seconds=seconds)


def _base(base: RunSpec, store: Store, options: Options) -> AnyHasher:
    """The hasher that another experiment starts from: trained now, once for all that do, where it is not yet."""
    with _alone_in(store.run_folder(base.run), wait=True):
        row = _kept(base, store)
        if row is not None and (hasher := _load_if_there(base, store, options.device)) is not None:
            return hasher
        again = _measure(base, store, options)
        if row is None:
            store.write(again)
    if again.status != "ok":
        raise TrainingFailed(f"{base.run}, which it starts from, failed: {again.reason}")
    return _load(base, store, options.device)


def _scores(
    experiment: RunSpec, hasher: AnyHasher, dataset: Dataset, ids: Split, folder: Path, options: Options
) -> Scores:
    protocol = protocol_of(experiment)
    if isinstance(hasher, SparseHasher):
        from hashbench.runs.search import score_retrieval

        return score_retrieval(hasher, dataset, ids, folder, progress=options.progress)
    return score_codes(hasher, dataset, ids, protocol, folder, progress=options.progress, group=options.group)


def open_protocol(experiment: RunSpec) -> tuple[Dataset, Split]:
    """The data of an experiment and the ids of its queries, database and training set."""
    dataset, protocol = open_dataset(experiment.dataset), protocol_of(experiment)
    ids = split(dataset.labels, protocol, experiment.dataset, experiment.protocol)
    # where a card pins no checksum yet, there is nothing to hold the data against
    rule = experiment.data["split"]
    pinned = rule.get("ids_sha256"), experiment.data["content_sha256"]
    is_other = any(a not in (None, b) for a, b in zip(pinned, (ids.sha256, dataset.sha256), strict=True))
    if is_other or rule.get("relevance") != protocol.deciding().get("relevance"):
        raise CheckFailed(f"{experiment.run}: the data or the split are no longer those that the run is named by")
    n = experiment.n_classes
    return dataset, of_first_classes(ids, dataset.labels, n) if n else ids


def protocol_of(experiment: RunSpec) -> Protocol:
    """The protocol of an experiment, as its data set's card has it."""
    return load_card(experiment.dataset).protocol(experiment.protocol)


def _fit(
    experiment: RunSpec,
    dataset: Dataset,
    ids: Split,
    folder: Path,
    options: Options,
    base: AnyHasher | None = None,
) -> AnyHasher:
    method = METHODS.get(experiment.method)
    data = TrainingData(
        items=dataset.items[ids.train_ids],
        labels=dataset.labels[ids.train_ids],
        value_max=load_card(experiment.dataset).value_max or 1.0,
        seed=experiment.derived_seed,
        folder=folder,
        device=options.device,
        progress=options.progress,
        checkpoint_every_s=options.checkpoint_every_s,
        group=options.group,
        compute=options.compute,
        weights=options.weights,
        base=base,
        relevance=relevance_of_training(dataset, ids, protocol_of(experiment)) if method.learns_distances else None,
    )
    return method.fit(experiment.settings, data)


def load_hasher(row: Row, store: Store, device: str = "auto") -> AnyHasher:
    """The hasher of a stored run; raises HashbenchError when its working files are gone."""
    hasher = _load_if_there(of_row(row), store, device) if row.status == "ok" else None
    if hasher is None:
        gone = store.run_folder(row.run)
        raise HashbenchError(f"{gone}: the working files of this run are not here: run hashbench train again")
    return hasher


def _load_if_there(experiment: RunSpec, store: Store, device: str) -> AnyHasher | None:
    """The hasher of an experiment; None where its working files, or those of its base, are not here."""
    of = [experiment, *([experiment.base] if experiment.base else [])]
    if not all(any(store.run_folder(each.run).glob("hasher.*")) for each in of):  # what every save writes
        return None
    return _load(experiment, store, device)


def _load(experiment: RunSpec, store: Store, device: str) -> AnyHasher:
    base = None if experiment.base is None else _load(experiment.base, store, device)
    stored = SavedHasher(store.run_folder(experiment.run), device, base)
    return METHODS.get(experiment.method).load(experiment.settings, stored)


def _row(
    experiment: RunSpec,
    dataset: Dataset,
    ids: Split,
    options: Options,
    *,
    scores: Scores | None = None,
    seconds: Seconds | None = None,
    reason: str | None = None,
) -> Row:
    return Row(
        schema=SCHEMA,
        run=experiment.run,
        dataset=experiment.dataset,
        protocol=experiment.protocol,
        method=experiment.method,
        settings=experiment.identity,
        budget=experiment.budget,
        seed=experiment.seed,
        config=experiment.config,
        config_hash=experiment.config_hash,
        cell_hash=experiment.cell_hash,
        metrics=scores.metrics if scores else {},
        metrics_of_test=scores.of_test if scores else {},
        histogram_sha256=scores.histogram_sha256 if scores else None,
        retrieval_sha256=scores.retrieval_sha256 if scores else None,
        retrieval_of_test_sha256=scores.retrieval_of_test_sha256 if scores else None,
        data_sha256=dataset.sha256,
        ids_sha256=ids.sha256,
        code=provenance.code(),
        versions=provenance.versions(),
        hardware=provenance.hardware(_device(experiment, options)),
        utc=provenance.utc(),
        seconds=seconds,
        arithmetic=_arithmetic(experiment, options),
        status="failed" if reason else "ok",
        reason=reason,
    )


def _device(experiment: RunSpec, options: Options) -> str:
    if not METHODS.get(experiment.method).needs_torch:
        return "cpu"
    from hashbench.training.hasher import pick_device

    return str(pick_device(options.device))


def _arithmetic(experiment: RunSpec, options: Options) -> Arithmetic | None:
    settings, compute = experiment.settings, options.compute
    if not isinstance(settings, TrainingSettings):
        return None
    return Arithmetic(
        precision=precision_of(settings, compute, _device(experiment, options)),
        compiled=compute.compiled,
        channels_last=compute.channels_last,
        processes=options.group.size,
    )
