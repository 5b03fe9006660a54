"""A trained classifier: its last layer has an output for each class, and its backbone is what other runs start from."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import write_bytes
from hashbench.learning.contract import Counted, SearchItems
from hashbench.learning.training.settings import TrainingSettings
from hashbench.scoring.metrics import MetricValue, summarise
from hashbench.scoring.relevance.labels import Relevance

if TYPE_CHECKING:  # the accuracy of stored predictions is computed without PyTorch
    from hashbench.learning.training.hasher import DeepHasher

WEIGHTS = "backbone.safetensors"  # in the folder of a run: the weights that other runs can start from


def require_layers(settings: TrainingSettings, item_shape: tuple[int, ...]) -> None:
    """Raises HashbenchError if the network has no layers to pretrain, or has weights from ImageNet already."""
    from hashbench.learning.training.hasher import DeepHasher
    from hashbench.learning.training.weights import has_backbone

    if not has_backbone(settings.model):
        raise HashbenchError(f"{settings.model} has weights from ImageNet: pretrain trains networks that have none")
    if not any(True for _ in DeepHasher(settings, item_shape).backbone.parameters()):
        raise HashbenchError(f"{settings.model} has no layers before the last one: nothing to pretrain")


@dataclass(frozen=True, eq=False)
class Predictions:
    """The class id that a classifier predicts for each query, int64[q], and the query's own class id."""

    predicted: NDArray[np.int64]
    labels: NDArray[np.int64]

    @property
    def is_right(self) -> NDArray[np.bool_]:
        """Whether the predicted class is the query's own, bool[q]."""
        return self.predicted == self.labels

    def save(self, path: Path) -> None:
        """Writes ``predicted`` and ``labels`` as .npz, as a whole or not at all."""
        write_arrays(path, {"predicted": self.predicted, "labels": self.labels})

    def sha256(self) -> str:
        """SHA-256 (hex) of both."""
        return hashlib.sha256(np.stack([self.predicted, self.labels]).astype("<i8").tobytes()).hexdigest()

    def metrics(self, names: Iterable[str]) -> dict[str, MetricValue]:  # noqa: ARG002
        """The accuracy: a row of a classifier has no metric of codes."""
        return {"accuracy": summarise(self.is_right.astype(np.float64))}


@dataclass(frozen=True)
class Classifier:
    """A network that was trained as a classifier; the predicted class is the largest of its outputs."""

    network: "DeepHasher"

    @property
    def weights(self) -> bytes:
        """The content of the file of weights: the backbone without the last layer."""
        from hashbench.learning.training import weights

        return weights.content(self.network.layout, self.network.backbone, self.network.normalised)

    def output(self, data: SearchItems, *, progress: bool = False) -> "ClassifierOutput":
        """The predictions of the queries; the database is not looked at."""
        labels = data.queries.labels
        assert labels is not None, "a protocol with training labels has labels of its queries"
        logits = self.network.encode(data.queries.whole(), progress=progress)
        return ClassifierOutput(Predictions(logits.argmax(axis=1), labels.astype(np.int64)), self.weights)

    def save(self, folder: Path) -> None:
        """Writes the network."""
        self.network.save(folder)

    def export(self, *_: Any) -> NoReturn:
        """Raises HashbenchError: a classifier makes no codes."""
        start = "hashbench train ... --weights starts a method from its weights"
        raise HashbenchError(f"a classifier makes no codes: {start}")

    export_items = export


@dataclass(frozen=True, eq=False)
class ClassifierOutput:
    """The predictions of the queries, and the file of weights."""

    predictions: Predictions
    weights: bytes

    def save(self, folder: Path) -> None:
        """Writes the file of weights."""
        write_bytes(folder / WEIGHTS, self.weights)

    def count(self, relevance: Relevance, *, progress: bool = False) -> Counted:  # noqa: ARG002
        """The predictions, from which the accuracy is computed."""
        checksum = hashlib.sha256(self.weights).hexdigest()
        return Counted({"predictions": self.predictions}, weights_sha256=checksum)
