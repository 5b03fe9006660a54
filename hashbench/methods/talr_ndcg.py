"""TALR-NDCG: gradient ascent on the relaxed tie-aware NDCG (He, Cakir, Bargal, Sclaroff 2018)."""

from functools import partial
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hashbench.methods._deep import deep_method
from hashbench.training.settings import DeepSettings

if TYPE_CHECKING:
    from hashbench.training.objective import Objective


class Settings(DeepSettings):
    """``variant``: DCG_s as the authors released it, or DCG_r made exact at integers; bins of the soft histogram."""

    variant: Literal["simplified", "exact"]
    n_bins: int = Field(ge=0)  # 0: as many as bits
    delta: float = Field(ge=1)  # half-width of a pulse in bins


def _objective(settings: Settings) -> "Objective":
    from hashbench.losses import tie_aware_ndcg

    loss = getattr(tie_aware_ndcg, settings.variant)
    return partial(loss, n_bins=settings.n_bins or None, delta=settings.delta)


METHOD = deep_method(Settings, _objective, identity=("variant", "tanh_scale"))
