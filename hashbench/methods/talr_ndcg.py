"""TALR-NDCG: gradient ascent on the relaxed tie-aware NDCG (He, Cakir, Bargal, Sclaroff 2018)."""

from functools import partial
from typing import TYPE_CHECKING, Literal, Self

from pydantic import model_validator

from hashbench.methods._deep import deep_method
from hashbench.training.settings import PulseSettings

if TYPE_CHECKING:
    from torch import Tensor

    from hashbench.training.objective import Objective


class Settings(PulseSettings):
    """``variant``: DCG_s as the authors released it, or DCG_r made exact at integers.

    ``as_released``: DCG_s with the gains and the ideal order of the authors' code.
    """

    variant: Literal["simplified", "exact"]
    as_released: bool = False

    @model_validator(mode="after")
    def _only_the_simplified_was_released(self) -> Self:
        if self.as_released and self.variant != "simplified":
            raise ValueError("as_released is about variant = 'simplified': no other was released")
        return self


def _objective(settings: Settings, labels: "Tensor") -> "Objective":  # noqa: ARG001
    from hashbench.losses import tie_aware_ndcg

    loss = tie_aware_ndcg.as_released if settings.as_released else getattr(tie_aware_ndcg, settings.variant)
    return partial(loss, n_bins=settings.bins, delta=settings.delta)


METHOD = deep_method(Settings, _objective, identity=("variant", "tanh_scale"))
