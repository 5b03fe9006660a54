"""DPSH: pairwise likelihood of inner products, with a quantisation term (Li, Wang, Kang 2016)."""

from functools import partial
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hashbench.methods._deep import deep_method
from hashbench.training.settings import DeepSettings

if TYPE_CHECKING:
    from hashbench.losses import Supervision
    from hashbench.training.objective import Objective


class Settings(DeepSettings):
    """``eta``: weight of the quantisation term; ``pairing``: a batch with itself, or with all training outputs."""

    eta: float = Field(ge=0)
    pairing: Literal["batch", "memory"] = "batch"


def _objective(settings: Settings, supervision: "Supervision") -> "Objective":
    from hashbench.losses import dpsh

    if settings.pairing == "memory":
        return dpsh.WithMemory(supervision, settings.bits, eta=settings.eta)
    return partial(dpsh.loss, eta=settings.eta)


METHOD = deep_method(__name__, Settings, _objective)
