"""DPN: hinge of each bit to that of a class's random centre (Fan, Ng, Ju, Zhang, Chan 2020)."""

from functools import partial

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.learning.training.settings import CentreSettings, RawSettings


class Settings(CentreSettings, RawSettings):
    """``margin`` is that of the hinge."""

    margin: float = Field(gt=0)


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    centres = losses.fixed_centres(settings.centres, classes, settings.bits)
    return losses.CentreObjective(classes, centres, partial(losses.dpn.loss, margin=settings.margin))


METHOD = class_method(__name__, Settings, _objective)
