"""JMLH: a classifier on random codes, whose probabilities stay near 1/2 (Shen, Qin, Chen, Liu, Zhu, Shen 2019)."""

from typing import Literal

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.learning.training.settings import RawSettings


class Settings(RawSettings):
    """``divergence`` is the weight of KL(p || 1/2), summed over bits; ``noise`` half: the codes are not random."""

    divergence: float = Field(ge=0)
    noise: Literal["uniform", "half"] = "uniform"


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    return losses.jmlh.Objective(classes, settings.bits, weight=settings.divergence, noise=settings.noise)


METHOD = class_method(__name__, Settings, _objective)
