"""DPSH: pairwise likelihood of inner products, with a quantisation term (Li, Wang, Kang 2016)."""

from functools import partial
from typing import Literal

from pydantic import Field

from hashbench.methods._method import Objective, Supervision, deep_method
from hashbench.training.settings import DeepSettings


class Settings(DeepSettings):
    """Examples are compared within a batch, or ("memory") with the last outputs of all training examples."""

    eta: float = Field(ge=0)  # the weight of the quantisation term
    pairing: Literal["batch", "memory"] = "batch"


def _objective(settings: Settings, supervision: Supervision) -> Objective:
    from hashbench.losses import dpsh

    if settings.pairing == "memory":
        return dpsh.MemoryObjective(supervision, settings.bits, eta=settings.eta)
    return partial(dpsh.loss, eta=settings.eta)


METHOD = deep_method(__name__, Settings, _objective)
