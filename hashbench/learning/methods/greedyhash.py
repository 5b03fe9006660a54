"""GreedyHash: a classifier on signs whose gradient passes straight through (Su, Zhang, Han, Tian 2018)."""

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.learning.training.settings import RawSettings


class Settings(RawSettings):
    """``alpha`` is the weight of the mean of | |u| - 1 |^3."""

    alpha: float = Field(ge=0)


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    return losses.greedyhash.Objective(classes, settings.bits, alpha=settings.alpha)


METHOD = class_method(__name__, Settings, _objective)
