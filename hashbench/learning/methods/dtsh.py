"""DTSH: triplet likelihood of inner products, with a quantisation term (Wang, Shi, Kitani 2016)."""

from functools import partial
from typing import Literal

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import DeepSettings


class Settings(DeepSettings):
    """Triplets are of a batch, or ("memory") of a query of the batch and the last outputs of all training examples."""

    margin_per_bit: float = Field(ge=0)
    eta: float = Field(ge=0)  # the weight of the quantisation term
    pairing: Literal["batch", "memory"] = "batch"


def _objective(settings: Settings, supervision: Supervision) -> Objective:
    margin = settings.margin_per_bit * settings.bits
    if settings.pairing == "memory":
        size = settings.batch_size
        return losses.dtsh.MemoryObjective(supervision, settings.bits, margin=margin, eta=settings.eta, batch_size=size)
    return partial(losses.dtsh.loss, margin=margin, eta=settings.eta)


METHOD = deep_method(__name__, Settings, _objective)
