"""The data of a run: the items in the form that the method takes, the ids of its protocol, and the relevance."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from hashbench.contract import PIXELS, Hasher, ItemRows, SearchItems, TrainingData
from hashbench.datasets.card import Card
from hashbench.datasets.protocol import Percentiles, Protocol
from hashbench.datasets.relevance import relevance_of, relevance_of_training
from hashbench.datasets.split import Split, of_first_classes, split
from hashbench.datasets.store import Dataset, open_dataset
from hashbench.foundation import provenance
from hashbench.foundation.errors import CheckFailed, HashbenchError
from hashbench.methods import METHODS
from hashbench.relevance.labels import Relevance
from hashbench.runs.options import DEFAULT_OPTIONS, Options
from hashbench.runs.run import Run

if TYPE_CHECKING:
    from hashbench.features import Features


@dataclass(frozen=True, eq=False)
class RunData:
    """The data of a run.

    ``items`` [n, ...] are all items of the data set in the form that the method takes: as stored, or their features.
    The value ``value_max`` in an item means 1.0. ``compared`` holds the items whose distances define relevance, where
    they do.
    """

    spec: Run
    dataset: Dataset
    protocol: Protocol
    ids: Split
    items: NDArray[Any]
    value_max: float
    compared: Dataset
    features_sha256: str | None = None

    @property
    def search_items(self) -> SearchItems:
        """The queries and the database."""
        return SearchItems(self.dataset.name, self._rows(self.ids.query_ids), self._rows(self.ids.database_ids))

    def _rows(self, ids: NDArray[Any]) -> ItemRows:
        return ItemRows(self.items, ids, self.dataset.labels[ids] if self.protocol.relevance is None else None)

    @property
    def relevance(self) -> Relevance:
        """The relevance of each item of the database to each query; distances are computed on each access."""
        return relevance_of(self.compared, self.ids, self.protocol)

    def training(self, folder: Path, options: Options, base: Hasher | None) -> TrainingData:
        """The training data that the method gets."""
        by_distance = self.spec.method.supervision == "relevance"
        return TrainingData(
            items=self.items[self.ids.train_ids],
            labels=self.dataset.labels[self.ids.train_ids],
            value_max=self.value_max,
            seed=self.spec.derived_seed,
            folder=folder,
            device=options.device,
            progress=options.progress,
            checkpoint_every_s=options.checkpoint_every_s,
            group=options.group,
            compute=options.compute,
            weights=options.weights,
            base=base,
            relevance=relevance_of_training(self.compared, self.ids, self.protocol) if by_distance else None,
        )


def open_data(spec: Run, options: Options = DEFAULT_OPTIONS) -> RunData:
    """The data of a run; features that are missing are extracted first, with a progress bar.

    Raises HashbenchError where the data set is not here, and CheckFailed where it, or the split, is no longer the one
    that the run is named by.
    """
    card, protocol = spec.card, spec.protocol
    dataset = open_dataset(card)
    ids = split(dataset.labels, protocol, spec.name.dataset, spec.name.protocol)
    # where a card pins no checksum yet, there is nothing to hold the data against
    rule, today = spec.name.data["split"], protocol.deciding()
    pinned = rule.get("ids_sha256"), spec.name.data["content_sha256"]
    is_other = any(a not in (None, b) for a, b in zip(pinned, (ids.sha256, dataset.sha256), strict=True))
    # no card pins the ids of another split, but its rule and its seed give them
    is_other |= rule != today if spec.name.split_seed is not None else rule.get("relevance") != today.get("relevance")
    if is_other:
        raise CheckFailed(f"{spec.name}: the data or the split are no longer those that the run is named by")
    chosen = of_first_classes(ids, dataset.labels, spec.n_classes) if spec.n_classes else ids
    apart = compared(card, dataset, protocol, options)
    if spec.settings.features == PIXELS:
        return RunData(spec, dataset, protocol, chosen, dataset.items, card.value_max or 1.0, apart)
    found = _features(card, spec.settings.features, options)
    return RunData(spec, dataset, protocol, chosen, found.array, 1.0, apart, found.sha256)


def compared(card: Card, dataset: Dataset, protocol: Protocol, options: Options = DEFAULT_OPTIONS) -> Dataset:
    """``dataset``, with the items whose distances define relevance: as stored, or the features that ``protocol`` names.

    Features that are missing are extracted first.
    """
    rule = protocol.relevance
    if not isinstance(rule, Percentiles) or rule.features is None:
        return dataset
    return replace(dataset, items=_features(card, rule.features, options).array)


def _features(card: Card, name: str, options: Options) -> "Features":
    from hashbench.features import features_of_run

    made_by = {"code": provenance.code().model_dump(), "utc": provenance.utc()}
    return features_of_run(card, name, made_by, device=options.device, progress=options.progress)


def own_rows(spec: Run, items: NDArray[Any], device: str = "auto", labels: NDArray[Any] | None = None) -> ItemRows:
    """The user's own ``items`` [n, *shape of the data set's items], in the form that the hasher of a run takes."""
    import numpy as np

    if spec.settings.features != PIXELS:
        from hashbench.features import features_of_items

        items = features_of_items(items, spec.settings.features, spec.card.value_max, device=device)
    return ItemRows(items, np.arange(len(items)), labels)


def require_supervision(spec: Run) -> None:
    """Raises HashbenchError if the method needs labels or relevance and the data set has none."""
    supervision = spec.method.supervision
    by_distance = supervision == "relevance" and isinstance(spec.protocol.relevance, Percentiles)
    if supervision == "none" or by_distance or spec.card.labels != "none":
        return
    free = ", ".join(name for name, entry in METHODS.usable() if entry.supervision == "none")
    needs, has = ("labels or percentiles of distances", "neither") if supervision == "relevance" else ("labels", "none")
    raise HashbenchError(
        f"{spec.name.method} learns from {needs}, and {spec.name.dataset} has {has}: these need none: {free}"
    )
