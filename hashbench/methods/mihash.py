"""MIHash: mutual information between distance and relevance (Cakir, He, Bargal, Sclaroff 2017)."""

from functools import partial
from typing import TYPE_CHECKING

from pydantic import Field

from hashbench.methods._deep import deep_method
from hashbench.training.settings import DeepSettings

if TYPE_CHECKING:
    from hashbench.training.objective import Objective


class Settings(DeepSettings):
    """Bins of the soft histogram."""

    n_bins: int = Field(ge=0)  # 0: as many as bits
    delta: float = Field(ge=1)  # half-width of a pulse in bins


def _objective(settings: Settings) -> "Objective":
    from hashbench.losses import mihash

    return partial(mihash.loss, n_bins=settings.n_bins or None, delta=settings.delta)


METHOD = deep_method(Settings, _objective)
