"""One cell: what is run is named here, and run here: train, encode, score, store."""

import fcntl
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hashbench import affinity, codes, histogram, metrics, provenance, saved_codes
from hashbench.config import digest, parse
from hashbench.datasets.card import load_card
from hashbench.datasets.split import Split, split
from hashbench.datasets.store import Dataset, open_dataset
from hashbench.errors import HashbenchError, unknown
from hashbench.files import require_writable, write_text
from hashbench.hasher import BitSettings, Fit, Hasher
from hashbench.methods import METHODS, _file
from hashbench.methods._method import Method
from hashbench.metrics import MetricValue
from hashbench.models import MODELS
from hashbench.registry import canonical
from hashbench.results import SCHEMA, Row, Seconds, Store
from hashbench.seeding import derive

Setting = int | float | str | bool

# Every row holds these; the kept histogram gives any other metric later, without a new run.
ROW_METRICS = (
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


@dataclass(frozen=True)
class Experiment:
    """One run, fully resolved; its name holds the digest of all that decides its result."""

    dataset: str
    protocol: str
    method: str
    settings: BitSettings
    identity: dict[str, Setting]  # the settings that name it: those the method declares and those given
    budget: str
    seed: int

    @property
    def config(self) -> dict[str, Any]:
        """Everything that decides the result but the seed and the code."""
        return {
            "dataset": self.dataset,
            "protocol": self.protocol,
            "method": self.method,
            "budget": self.budget,
            "settings": self.settings.model_dump(),
        }

    @property
    def cell_hash(self) -> str:
        """Digest of ``config``: the runs over seeds that fill one cell share it."""
        return digest(self.config)

    @property
    def config_hash(self) -> str:
        """Digest of ``config`` and seed."""
        return digest({**self.config, "seed": self.seed})

    @property
    def derived_seed(self) -> int:
        """The seed of everything random in the run, from its names; bits are in it, so that no two columns share luck.

        Hyper-parameters are not: a run with another learning rate starts from the same weights.
        """
        declared = METHODS.get(self.method).identity
        named = [f"{key}={self.identity[key]}" for key in sorted(declared)]
        return derive(self.dataset, self.protocol, self.method, *named, self.seed)

    @property
    def run(self) -> str:
        """The run's name."""
        head = f"{self.dataset}-{self.protocol}-{self.method}-{self.settings.bits}b-s{self.seed}"
        return f"{head}-{self.config_hash[:10]}"


def resolve(
    dataset: str,
    protocol: str,
    method: str,
    settings: Mapping[str, Setting],
    *,
    seed: int = 0,
    budget: str = "full",
) -> Experiment:
    """The experiment of those names; ``settings`` (bits at least) go over what the method's TOML says.

    Raises HashbenchError for a name that does not exist or a setting of a wrong type. Imports nothing heavy.
    """
    card = load_card(dataset)
    card.protocol(protocol)
    entry = METHODS.get(method)
    stem = canonical(method)
    file = _file.load(stem)
    names = {"dataset": canonical(dataset), "protocol": protocol, "method": stem}
    _known_keys(stem, settings, entry)
    chosen = parse(entry.settings, _file.resolve(file, names, settings), f"{stem} on {dataset}")
    _known_model(chosen)
    if seed < 0:
        raise HashbenchError(f"seed {seed}: a seed is 0 or more")
    return Experiment(
        **names, settings=chosen, identity=_identity(chosen, entry, file, names), budget=budget, seed=seed
    )


def _identity(
    chosen: BitSettings, entry: Method, file: _file.MethodFile, names: Mapping[str, str]
) -> dict[str, Setting]:
    """The settings that the method declares, and any that differ from what its TOML says for them."""
    values = chosen.model_dump()
    declared = {key: values[key] for key in sorted(entry.identity)}
    usual = _file.resolve(file, names, declared)
    return {key: value for key, value in sorted(values.items()) if key in declared or value != usual[key]}


def _known_keys(method: str, settings: Mapping[str, Setting], entry: Method) -> None:
    for key in settings:
        if key not in entry.settings.model_fields:
            raise unknown(f"setting of {method}", key, entry.settings.model_fields)


def _known_model(settings: BitSettings) -> None:
    model = getattr(settings, "model", None)
    if model is not None and model not in MODELS:
        raise unknown("model", model, MODELS.names)


def of_row(row: Row) -> Experiment:
    """The experiment that a row is the result of, from the configuration the row holds."""
    settings = parse(METHODS.get(row.method).settings, row.config["settings"], row.run)
    return Experiment(row.dataset, row.protocol, row.method, settings, row.settings, row.budget, row.seed)


@dataclass(frozen=True)
class Options:
    """How to run, which never changes what comes out beyond rounding."""

    device: str = "auto"
    progress: bool = False
    checkpoint_every_s: float = 10.0


def run(experiment: Experiment, store: Store, options: Options = Options()) -> Row:
    """The row of ``experiment``: as stored if it was run before, else measured now and stored.

    A run that training gives up on is stored as a failed row, and tried again when asked for again. A killed
    one continues from its checkpoint.
    """
    kept = store.find(experiment.dataset, experiment.protocol, experiment.run)
    if kept is not None and kept.status == "ok":
        return kept
    require_writable(store.folder)
    folder = store.run_folder(experiment.run)
    with _alone_in(folder):
        row = _measure(experiment, folder, options)
        store.write(row)
    return row


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise HashbenchError(f"{folder}: another process is running this cell: wait for it") from None
        yield


@dataclass(frozen=True)
class Measured:
    """What a successful run brings to its row."""

    metrics: dict[str, MetricValue]
    histogram_sha256: str
    seconds: Seconds


def _measure(experiment: Experiment, folder: Path, options: Options) -> Row:
    from hashbench.training.failure import TrainingFailed

    dataset, ids = open_protocol(experiment)
    text = json.dumps({**experiment.config, "seed": experiment.seed}, indent=1, sort_keys=True)
    write_text(folder / "config.json", text + "\n")
    started = time.perf_counter()
    try:
        hasher = _fit(experiment, dataset, ids, folder, options)
    except TrainingFailed as failure:
        return _row(experiment, dataset, ids, options, reason=str(failure))
    trained = time.perf_counter()
    saved = encode_protocol(hasher, dataset, ids, progress=options.progress)
    saved_codes.save(folder / "codes.npz", saved)
    encoded = time.perf_counter()
    counted = histogram.count(saved.query, saved.database, saved.affinity, progress=options.progress)
    counted.save(folder / "histogram.npz")
    values = metrics.evaluate(counted, ROW_METRICS)
    seconds = Seconds(
        train=round(trained - started, 3),
        encode=round(encoded - trained, 3),
        score=round(time.perf_counter() - encoded, 3),
    )
    means = {name: metrics.summarise(value) for name, value in values.items()}
    return _row(experiment, dataset, ids, options, measured=Measured(means, counted.sha256(), seconds))


def open_protocol(experiment: Experiment) -> tuple[Dataset, Split]:
    """The data of an experiment and the ids of its queries, database and training set."""
    dataset = open_dataset(experiment.dataset)
    protocol = load_card(experiment.dataset).protocol(experiment.protocol)
    return dataset, split(dataset.labels, protocol, experiment.dataset, experiment.protocol)


def _fit(experiment: Experiment, dataset: Dataset, ids: Split, folder: Path, options: Options) -> Hasher:
    data = Fit(
        items=dataset.items[ids.train_ids],
        labels=dataset.labels[ids.train_ids],
        value_max=load_card(experiment.dataset).value_max or 1.0,
        seed=experiment.derived_seed,
        folder=folder,
        device=options.device,
        progress=options.progress,
        checkpoint_every_s=options.checkpoint_every_s,
    )
    hasher = METHODS.get(experiment.method).fit(experiment.settings, data)
    hasher.save(folder)
    return hasher


def encode_protocol(hasher: Hasher, dataset: Dataset, ids: Split, *, progress: bool) -> saved_codes.SavedCodes:
    """The codes and labels of a protocol's queries and database."""
    query = codes.binarize(hasher.encode(dataset.items[ids.query_ids], progress=progress))
    database = codes.binarize(hasher.encode(dataset.items[ids.database_ids], progress=progress))
    labels = affinity.from_labels(dataset.labels[ids.query_ids], dataset.labels[ids.database_ids])
    return saved_codes.SavedCodes(query, database, labels)


def load_hasher(row: Row, store: Store, device: str = "auto") -> Hasher:
    """The hasher of a stored run; raises HashbenchError when its working files are gone."""
    folder = store.run_folder(row.run)
    if row.status != "ok" or not folder.is_dir():
        raise HashbenchError(f"{folder}: the working files of this run are not here: run hashbench train again")
    entry = METHODS.get(row.method)
    settings = parse(entry.settings, row.config["settings"], row.run)
    return entry.load(settings, folder, device)


def _row(
    experiment: Experiment,
    dataset: Dataset,
    ids: Split,
    options: Options,
    *,
    measured: Measured | None = None,
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
        metrics=measured.metrics if measured else {},
        histogram_sha256=measured.histogram_sha256 if measured else None,
        data_sha256=dataset.sha256,
        ids_sha256=ids.sha256,
        code=provenance.code(),
        versions=provenance.versions(),
        hardware=provenance.hardware(_device(experiment, options)),
        utc=provenance.utc(),
        seconds=measured.seconds if measured else None,
        status="failed" if reason else "ok",
        reason=reason,
    )


def _device(experiment: Experiment, options: Options) -> str:
    if not METHODS.get(experiment.method).needs_torch:
        return "cpu"
    from hashbench.training.hasher import pick_device

    return str(pick_device(options.device))
