"""CSQ: likelihood of the bits of a class's centre, a row of a Hadamard matrix (Yuan et al. 2020)."""

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.learning.training.settings import CentreSettings, RawSettings


class Settings(CentreSettings, RawSettings):
    """``quantisation`` is the weight of the mean of (|tanh u| - 1)^2."""

    quantisation: float = Field(ge=0)


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    centres = losses.fixed_centres(settings.centres, classes, settings.bits)
    return losses.csq.Objective(classes, centres, quantisation=settings.quantisation)


METHOD = class_method(__name__, Settings, _objective)
