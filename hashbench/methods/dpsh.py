"""DPSH: pairwise likelihood of inner products, with a quantisation term (Li, Wang, Kang 2016)."""

from functools import partial
from typing import TYPE_CHECKING

from pydantic import Field

from hashbench.methods._deep import deep_method
from hashbench.training.settings import DeepSettings

if TYPE_CHECKING:
    from hashbench.training.objective import Objective


class Settings(DeepSettings):
    """``eta``: weight of the quantisation term."""

    eta: float = Field(ge=0)


def _objective(settings: Settings) -> "Objective":
    from hashbench.losses import dpsh

    return partial(dpsh.loss, eta=settings.eta)


METHOD = deep_method(Settings, _objective)
