"""DPSH: pairwise likelihood of inner products, with a quantisation term (Li, Wang, Kang 2016)."""

from functools import partial
from typing import Literal

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import DeepSettings

Pairing = Literal["batch", "memory"]


class Settings(DeepSettings):
    """Examples are compared within a batch, or ("memory") with the last outputs of all training examples."""

    eta: float = Field(ge=0)  # the weight of the quantisation term
    pairing: Pairing = "batch"


def likelihood(pairing: Pairing, supervision: Supervision, bits: int, eta: float) -> Objective:
    """The objective, whose quantisation has the weight ``eta``."""
    if pairing == "memory":
        return losses.dpsh.MemoryObjective(supervision, bits, eta=eta)
    return partial(losses.dpsh.loss, eta=eta)


def _objective(settings: Settings, supervision: Supervision) -> Objective:
    return likelihood(settings.pairing, supervision, settings.bits, settings.eta)


METHOD = deep_method(__name__, Settings, _objective)
