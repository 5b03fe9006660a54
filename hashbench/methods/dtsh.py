"""DTSH: triplet likelihood of inner products, with a quantisation term (Wang, Shi, Kitani 2016)."""

from functools import partial
from typing import TYPE_CHECKING

from pydantic import Field

from hashbench.methods._deep import deep_method
from hashbench.training.settings import DeepSettings

if TYPE_CHECKING:
    from hashbench.training.objective import Objective


class Settings(DeepSettings):
    """``margin_per_bit``: the triplets' margin divided by the bits; ``eta``: weight of the quantisation term."""

    margin_per_bit: float = Field(ge=0)
    eta: float = Field(ge=0)


def _objective(settings: Settings) -> "Objective":
    from hashbench.losses import dtsh

    return partial(dtsh.loss, margin=settings.margin_per_bit * settings.bits, eta=settings.eta)


METHOD = deep_method(Settings, _objective)
