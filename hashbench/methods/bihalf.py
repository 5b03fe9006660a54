"""BiHalf with labels: a classifier on codes whose bits are +1 for half of the batch (Li, van Gemert 2021)."""

from pydantic import Field

from hashbench.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.training.settings import RawSettings


class Settings(RawSettings):
    """``gamma`` is the weight of u - b in the gradient of the activations u with codes b."""

    gamma: float = Field(ge=0)


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    from hashbench.losses import bihalf

    return bihalf.Objective(classes, settings.bits, gamma=settings.gamma)


METHOD = class_method(__name__, Settings, _objective)
