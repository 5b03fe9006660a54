"""OrthoHash: softmax of cosines to the centres of the classes, with a margin (Hoe et al. 2021)."""

from functools import partial
from typing import Literal

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.learning.training.settings import CentreSettings


class Settings(CentreSettings):
    """``margin_form`` says what ``margin`` changes: the cosine (OrthoCos) or the angle (OrthoArc)."""

    scale: float = Field(gt=0)
    margin: float = Field(ge=0)
    margin_form: Literal["cosine", "arc"] = "cosine"


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    centres = losses.fixed_centres(settings.centres, classes, settings.bits)
    form = settings.margin_form
    loss = partial(losses.orthohash.loss, scale=settings.scale, margin=settings.margin, form=form)
    return losses.CentreObjective(classes, centres, loss)


METHOD = class_method(__name__, Settings, _objective)
