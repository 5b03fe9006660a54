"""The data of a run: the items in the form that the method takes, the ids of its protocol, and the relevance."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.array_like import native
from hashbench.foundation.config import digest
from hashbench.foundation.errors import CheckFailed, HashbenchError
from hashbench.foundation.execution import DEFAULT, Execution
from hashbench.foundation.once import once
from hashbench.learning.contract import PIXELS, Hasher, ItemRows, SearchItems, TrainingData
from hashbench.learning.methods import METHODS
from hashbench.learning.training.settings import TrainingSettings
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.custom.expected import of_unit_norm
from hashbench.running.datasets.protocol import Neighbours, Percentiles, Protocol
from hashbench.running.datasets.relevance import relevance_of, relevance_of_training
from hashbench.running.datasets.split import Split, of_first_classes, split
from hashbench.running.datasets.store import Dataset, open_dataset
from hashbench.running.features import Features, extract, features_of_items, model_and_weights, path_of, read
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.scoring.relevance.labels import Relevance


@dataclass(frozen=True, eq=False)
class RunData:
    """The data of a run: ``items`` [n, ...] are all items as the method takes them; ``value_max`` means 1.0."""

    run: Run
    dataset: Dataset
    ids: Split
    items: NDArray[Any]
    value_max: float
    compared: Dataset  # the items whose distances define relevance
    features_sha256: str | None = None
    copies: NDArray[Any] | None = None  # [c, n, d]: features of augmented copies of the training items
    progress: bool = False  # whether there is a bar while neighbours are computed

    @property
    def search_items(self) -> SearchItems:
        """The queries and the database."""
        rows = []
        for ids in (self.ids.query_ids, self.ids.database_ids):
            labels = None
            if self.run.protocol.relevance is None:
                labels = self.dataset.labels[ids]
            rows.append(ItemRows(self.items, ids, labels))
        return SearchItems(self.dataset.name, *rows)

    @property
    def relevance(self) -> Relevance:
        """The relevance of each item of the database to each query; distances are computed on each access."""
        return relevance_of(self.compared, self.ids, self.run.protocol, progress=self.progress)

    def training(self, folder: Path, execution: Execution, base: Hasher | None) -> TrainingData:
        """The training data that the method gets."""
        train = self.ids.train_ids
        rule = self.run.protocol.relevance
        metric: Literal["l2", "ip"] = "l2"
        if isinstance(rule, Neighbours) and rule.metric == "ip":
            metric = "ip"
        relevance = None
        if self.run.method.supervision == "relevance":
            relevance = relevance_of_training(self.compared, self.ids, self.run.protocol)
        return TrainingData(
            items=self.items[train],
            ids=train,
            labels=self.dataset.labels[train],
            value_max=self.value_max,
            seed=self.run.derived_seed,
            given_seed=self.run.name.seed,
            folder=folder,
            base=base,
            copies=self.copies,
            metric=metric,
            relevance=relevance,
            execution=execution,
        )


def open_data(run: Run, execution: Execution = DEFAULT) -> RunData:
    """The data, missing features extracted; HashbenchError without the data set, CheckFailed if it has changed."""
    card = run.card
    protocol = run.protocol
    name = run.name
    dataset = open_dataset(card)
    ids = split(dataset.labels, protocol, name.dataset, name.protocol)
    # where a card pins no checksum yet, there is nothing to hold the data against
    rule = name.data["split"]
    today = protocol.deciding()
    pinned = rule.get("ids_sha256"), name.data["content_sha256"]
    is_other = any(a not in (None, b) for a, b in zip(pinned, (ids.sha256, dataset.sha256), strict=True))
    is_other |= rule.get("relevance") != today.get("relevance")
    # no card pins the ids of another split, but its rule and its seed give them
    is_other |= name.split_seed is not None and rule != today
    if is_other:
        raise CheckFailed(f"{name}: the data or the split are no longer those that the run is named by")
    chosen = of_first_classes(ids, dataset.labels, run.n_classes)
    wanted = protocol.relevance
    if isinstance(wanted, Neighbours) and wanted.k > (n := len(chosen.database_ids)):  # said before anything is trained
        raise HashbenchError(
            f"{name.dataset} {name.protocol}: k = {wanted.k:,} neighbours: its database has {n:,} items"
        )
    apart = compared(card, dataset, protocol, execution)
    if run.settings.features == PIXELS:
        return RunData(run, dataset, chosen, dataset.items, card.value_max or 1.0, apart, progress=execution.progress)
    features = _features(card, dataset, run.settings.features, execution)
    data = RunData(run, dataset, chosen, features.array, 1.0, apart, features.sha256, progress=execution.progress)
    if not (isinstance(run.settings, TrainingSettings) and run.settings.copies):
        return data
    number = run.settings.copies
    of_copies = _features(card, dataset, run.settings.features, execution, (number, chosen.train_ids))
    both = digest([features.sha256, of_copies.sha256])
    return replace(data, copies=of_copies.array.reshape(number, -1, features.shape[1]), features_sha256=both)


def split_of(row: Row) -> tuple[Dataset, Split]:
    """The data set and split of a stored run; HashbenchError where it is not here, CheckFailed if it has changed."""
    run = Run.from_row(row)
    dataset = open_dataset(run.card)
    drawn = split(dataset.labels, run.protocol, row.dataset, row.protocol)
    ids = of_first_classes(drawn, dataset.labels, run.n_classes)
    if (dataset.sha256, ids.sha256) != (row.data_sha256, row.ids_sha256):
        raise CheckFailed(f"{row.run}: the data or the split are no longer those of the row")
    return dataset, ids


def compared(card: Card, dataset: Dataset, protocol: Protocol, execution: Execution = DEFAULT) -> Dataset:
    """``dataset`` with the items whose distances define relevance: its own, or the features that ``protocol`` names."""
    name = protocol.compared_features
    if name is None:
        return dataset
    return replace(dataset, items=_features(card, dataset, name, execution).array)


def _features(
    card: Card, dataset: Dataset, name: str, execution: Execution, copies: tuple[int, NDArray[Any]] | None = None
) -> Features:
    """The features of all items, or of so many ``copies`` of the items with these ids; missing ones are extracted."""
    model, weights = model_and_weights(name)

    def found() -> Features:
        done = extract(
            card, model, weights, device=execution.device, progress=execution.progress, data=dataset, copies=copies
        )
        return read(card.name, done.path.stem)

    if copies is not None:
        return found()
    return cast(Features, once("features", path_of(card.name, name), (dataset.sha256, execution.device), found))


def own_rows(run: Run, items: NDArray[Any], device: str = "auto", labels: NDArray[Any] | None = None) -> ItemRows:
    """The user's own ``items`` [n, ...], in the form that the hasher of a run takes."""
    if has_unit_norm(run):
        items = of_unit_norm(items)
    items = native(items)
    if run.settings.features != PIXELS:
        items = features_of_items(items, run.settings.features, run.card.value_max, device=device)
    return ItemRows(items, np.arange(len(items)), labels)


def has_unit_norm(run: Run) -> bool:
    """Whether the items are vectors that are stored with norm 1, for neighbours by cosine."""
    rule = run.protocol.relevance
    return isinstance(rule, Neighbours) and rule.metric == "cosine" and run.settings.features == PIXELS


def require_supervision(run: Run) -> None:
    """Raises HashbenchError if the method needs labels or relevance and the data set has none."""
    supervision = run.method.supervision
    by_distance = isinstance(run.protocol.relevance, Percentiles | Neighbours)
    if supervision == "labels" and by_distance:
        scores = f"{run.name.dataset} {run.name.protocol} scores distances"
        what = f"{run.name.method} learns from class labels, and {scores}"
        raise HashbenchError(f"{what}: a method that learns from relevance, such as talr_ap, or another protocol")
    if supervision == "none" or by_distance or run.card.labels != "none":
        return
    free = ", ".join(name for name, entry in METHODS.usable() if entry.supervision == "none")
    fault = f"learns from labels, and {run.name.dataset} has none"
    if supervision == "relevance":
        fault = f"learns from labels or percentiles of distances, and {run.name.dataset} has neither"
    raise HashbenchError(f"{run.name.method} {fault}: these need none: {free}")
