"""Pretraining: the run of a classifier, and the file of weights that it leaves in the data folder."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.execution import Execution
from hashbench.learning.models import MODELS
from hashbench.learning.training.classifier import WEIGHTS, require_layers
from hashbench.learning.training.settings import TrainingSettings
from hashbench.running.datasets.card import Card
from hashbench.running.runs.command import CLASSIFIER
from hashbench.running.runs.guard import row_of, stored_row
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store

if TYPE_CHECKING:
    from hashbench.learning.training.weights import BackboneFile


@dataclass(frozen=True)
class Pretrained:
    """The row of a classifier, and the file of its weights in the data folder; None if training failed."""

    row: Row
    weights: BackboneFile | None


def classifier_run(card: Card, protocol: str | None, model: str, more: dict[str, Setting], *, seed: int) -> Run:
    """The run that pretrains ``model``; without a ``protocol`` on the one with most training items, if there is one."""
    if card.labels != "class":
        raise HashbenchError(f"{card.name}: a classifier needs one class for each item, and its labels are others")
    settings: dict[str, Setting] = {"model": model, "classes": card.n_classes, **more}
    if protocol is None:
        sizes = {name: rule.n_train or 0 for name, rule in card.protocols.items()}
        largest = [name for name, size in sizes.items() if size == max(sizes.values())]
        if len(largest) == 1:
            protocol = largest[0]
    run = Run.resolve(card.name, card.protocol_name(protocol), CLASSIFIER, settings, seed=seed)
    assert isinstance(run.settings, TrainingSettings)
    require_layers(run.settings, tuple(card.item_shape))
    return run


def pretrain(run: Run, store: Store, execution: Execution) -> Pretrained:
    """Trains the classifier unless its row and its weights are here; the row of a clone stays as it is."""
    row = stored_row(run, store)
    weights = None
    if row is not None:
        weights = _weights(row, run, store)
    if weights is None:
        row = row_of(run, store, execution, again=row is not None)
        if row.status == "ok":
            weights = _weights(row, run, store)
    assert row is not None, "it is stored, or it was made now"
    return Pretrained(row, weights)


def _weights(row: Row, run: Run, store: Store) -> BackboneFile | None:
    """The weights with the checksum of the row, or those that this run saved, as ``resnet9-w32-cifar100-s0-...``."""
    from hashbench.learning.training import weights

    with suppress(HashbenchError):
        return weights.find(f"sha256:{row.artefacts.get('weights')}")
    saved = store.run_folder(row.run) / WEIGHTS
    values = run.settings.model_dump()
    if not saved.is_file():
        return None
    channels = MODELS.get(values["model"]).channels
    width = ""
    if channels is not None:
        width = f"-w{round(values['width'] * channels)}"
    name = f"{values['model']}{width}-{run.name.dataset}-s{run.name.seed}"
    return weights.read(weights.store(saved.read_bytes(), name))
