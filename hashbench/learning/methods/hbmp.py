"""HBMP: hinge of each bit to that of codes from binary matrix pursuit (Cakir, He, Sclaroff 2018)."""

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.learning.training.settings import RawSettings


class Settings(RawSettings):
    """The variant in which all bits weigh the same; ``margin`` is that of the hinge."""

    margin: float = Field(gt=0)


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    return losses.hbmp.objective(classes, settings.bits, margin=settings.margin)


METHOD = class_method(__name__, Settings, _objective)
