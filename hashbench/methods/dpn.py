"""DPN: hinge of each bit to that of a class's random centre (Fan, Ng, Ju, Zhang, Chan 2020)."""

from pydantic import Field

from hashbench.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.training.settings import CentreSettings, RawSettings


class Settings(CentreSettings, RawSettings):
    """``margin`` is that of the hinge."""

    margin: float = Field(gt=0)


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    from hashbench.losses import dpn, fixed_centres

    centres = fixed_centres(settings.centres, classes, settings.bits)
    return dpn.Objective(classes, centres, margin=settings.margin)


METHOD = class_method(__name__, Settings, _objective)
