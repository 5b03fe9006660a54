"""BiHalf with labels: a classifier on codes whose bits are +1 for half of the batch (Li, van Gemert 2021)."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.learning.training.settings import RawSettings

if TYPE_CHECKING:
    from hashbench.learning.training.hasher import DeepHasher


class Settings(RawSettings):
    """``gamma`` is the weight of u - b in the gradient of the activations u with codes b."""

    gamma: float = Field(ge=0)
    threshold: Literal["zero", "median"] = "zero"  # of a bit; median: that of the activations of training examples


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    return losses.bihalf.Objective(classes, settings.bits, gamma=settings.gamma)


def halved(settings: Settings, hasher: "DeepHasher", objective: RowObjective, data: TrainingData) -> "DeepHasher":  # noqa: ARG001
    """``hasher``, whose activations lose the medians of the training examples if ``settings`` say so."""
    if settings.threshold == "median":
        hasher.shift(-np.median(hasher.encode(data.items), axis=0))
    return hasher


METHOD = class_method(__name__, Settings, _objective, finish=halved)
