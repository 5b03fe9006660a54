"""MDS centres: likelihood of classes by cosines to centres that are far apart (Wang et al. 2023), without memory."""

from functools import partial

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.learning.training.settings import CentreSettings


class Settings(CentreSettings):
    """``quantisation`` is the weight of the mean of (|h| - 1)^2."""

    quantisation: float = Field(ge=0)


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    centres = losses.fixed_centres(settings.centres, classes, settings.bits)
    loss = partial(losses.mds_centres.loss, quantisation=settings.quantisation)
    return losses.CentreObjective(classes, centres, loss)


METHOD = class_method(__name__, Settings, _objective)
