"""DSDH: pairwise likelihood, with discrete codes that are easy to classify (Li, Sun, He, Tan 2017)."""

from typing import Literal

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods import dpsh
from hashbench.learning.methods._method import ClassSupervision, RowObjective, class_method
from hashbench.learning.training.settings import RawSettings


class Settings(RawSettings):
    """Examples are compared within a batch, or ("memory") with the last outputs of all training examples."""

    eta: float = Field(ge=0)  # the weight of the squared distance to the codes, summed over bits
    pull: float = Field(ge=0)  # eta / mu of the paper: the weight of the outputs in the codes
    ridge: float = Field(gt=0)  # nu / mu of the paper: the weight of the classifier's squared norm
    pairing: dpsh.Pairing
    classifier: Literal["once", "each_sweep"] = "each_sweep"  # when the discrete step computes its classifier


def _objective(settings: Settings, classes: ClassSupervision) -> RowObjective:
    supervision = losses.LabelSupervision(classes.labels)
    likelihood = losses.as_row_objective(
        dpsh.likelihood(settings.pairing, supervision, settings.bits, 0.0), supervision
    )
    return losses.dsdh.Objective(
        likelihood,
        classes,
        eta=settings.eta,
        pull=settings.pull,
        ridge=settings.ridge,
        classifier=settings.classifier,
    )


METHOD = class_method(__name__, Settings, _objective)
