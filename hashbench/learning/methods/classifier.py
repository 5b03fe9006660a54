"""Pretraining: a network is trained as a classifier, so that other runs can start from its backbone; no codes."""

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.contract import Hasher, SavedHasher, TrainingData
from hashbench.learning.methods._method import Method, RowObjective, load, trained
from hashbench.learning.training.classifier import Classifier, require_layers
from hashbench.learning.training.settings import TrainingSettings


class Settings(TrainingSettings):
    """``classes`` is the number of classes; ``smoothing`` is the share of a label that all classes get alike."""

    classes: int = Field(ge=2)
    smoothing: float = Field(ge=0, lt=1)

    @property
    def outputs(self) -> int:
        """The number of classes."""
        return self.classes

    @property
    def size(self) -> str:
        """The number of classes, such as ``100c``."""
        return f"{self.classes}c"


def _objective(settings: Settings, data: TrainingData) -> RowObjective:
    require_layers(settings, data.items.shape[1:])
    return losses.cross_entropy.CrossEntropy(data.labels, settings.classes, settings.smoothing)


def _fit(settings: Settings, data: TrainingData) -> Hasher:
    network, _ = trained(settings, _objective, data, "classifier")
    return Classifier(network)


def _load(settings: Settings, stored: SavedHasher) -> Hasher:
    return Classifier(load(settings, stored))


IDENTITY = ("classes", "model", "width")
METHOD = Method(Settings, IDENTITY, _fit, _load, needs_torch=True, supervision="labels", makes_codes=False)
