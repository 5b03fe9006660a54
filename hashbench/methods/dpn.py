"""DPN: hinge of each bit to that of a class's random centre (Fan, Ng, Ju, Zhang, Chan 2020)."""

from pydantic import Field

from hashbench.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.training.settings import CentreSettings, RawSettings


class Settings(CentreSettings, RawSettings):
    """``margin`` is that of the hinge; ``decay`` is the weight of the mean of u^2."""

    margin: float = Field(gt=0)
    decay: float = Field(0.0, ge=0)


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    from hashbench.losses import dpn, fixed_centres

    centres = fixed_centres(settings.centres, classes, settings.bits)
    return dpn.Objective(classes, centres, margin=settings.margin, decay=settings.decay)


METHOD = class_method(__name__, Settings, _objective)
