"""Pretraining: the run of a classifier, and the file of weights that it leaves in the data folder."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashbench.datasets.card import Card, load_card
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.models import MODELS
from hashbench.runs.command import CLASSIFIER
from hashbench.runs.guard import row_of, stored_row
from hashbench.runs.options import Options
from hashbench.runs.row import Row
from hashbench.runs.run import Run
from hashbench.runs.store import Store
from hashbench.training.settings import TrainingSettings

if TYPE_CHECKING:
    from hashbench.training.weights import BackboneFile


@dataclass(frozen=True)
class Pretrained:
    """The row of a classifier, and the file of its weights in the data folder; None if training failed."""

    row: Row
    weights: BackboneFile | None


def classifier_run(
    dataset: str, protocol: str | None, model: str, given: dict[str, Setting], *, channels: int | None, seed: int
) -> Run:
    """The run that pretrains ``model`` on the training part of a data set.

    ``channels`` is the number of channels of the first layer, None for the model's own. Without a ``protocol`` it is
    the one with the most training items. Raises HashbenchError if the data set has no classes, if several protocols
    have as many training items, or if the model has one width only.
    """
    from hashbench.training.classifier import require_layers

    card = load_card(dataset)
    if card.labels != "class":
        raise HashbenchError(f"{card.name}: a classifier needs one class for each item, and its labels are others")
    width = {} if channels is None else {"width": channels / _channels(model)}
    settings = {"model": model, "classes": card.n_classes, **width, **given}
    spec = Run.resolve(card.name, _protocol(card, protocol), CLASSIFIER, settings, seed=seed)
    assert isinstance(spec.settings, TrainingSettings)
    require_layers(spec.settings, tuple(card.item_shape))
    return spec


def pretrain(spec: Run, store: Store, options: Options) -> Pretrained:
    """Trains the classifier unless its row and its weights are here, and puts the weights into the data folder.

    The row of a clone comes without weights. Then they are trained again, and the row stays as it is; on another kind
    of machine the new weights have another checksum.
    """
    row = stored_row(spec, store)
    weights = None if row is None else _weights(row, spec, store)
    if weights is None:
        row = row_of(spec, store, options, again=row is not None)
        weights = _weights(row, spec, store) if row.status == "ok" else None
    assert row is not None, "it is stored, or it was made now"
    return Pretrained(row, weights)


def _weights(row: Row, spec: Run, store: Store) -> BackboneFile | None:
    """The weights in the data folder: those with the checksum of the row, or those that this run saved; None: none."""
    from hashbench.training import weights
    from hashbench.training.classifier import WEIGHTS

    with suppress(HashbenchError):
        return weights.find(f"sha256:{row.artefacts.get('weights')}")
    saved = store.run_folder(row.run) / WEIGHTS
    return weights.read(weights.store(saved.read_bytes(), _name(spec))) if saved.is_file() else None


def _name(spec: Run) -> str:
    """The beginning of the name of the weights, such as ``resnet9-w32-cifar100-s0``."""
    values = spec.settings.model_dump()
    channels = MODELS.get(values["model"]).channels
    width = [] if channels is None else [f"w{round(values['width'] * channels)}"]
    return "-".join([values["model"], *width, spec.name.dataset, f"s{spec.name.seed}"])


def _channels(model: str) -> int:
    entry = MODELS.get(model)
    if entry.channels is None:
        raise HashbenchError(f"--width: {model} has one width only ({entry.summary})")
    return entry.channels


def _protocol(card: Card, given: str | None) -> str:
    """The protocol called ``given``, or the one with the most training items."""
    sizes = {name: protocol.n_train or 0 for name, protocol in card.protocols.items()}
    largest = [name for name, size in sizes.items() if size == max(sizes.values())]
    return card.protocol_name(given if given is not None or len(largest) != 1 else largest[0])
