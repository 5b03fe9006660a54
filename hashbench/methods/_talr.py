"""What TALR-AP and TALR-NDCG share: all but the loss (He, Cakir, Bargal, Sclaroff 2018)."""

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Literal, Self

from pydantic import model_validator

from hashbench.methods._deep import deep_method
from hashbench.methods._method import Method
from hashbench.training.settings import PulseSettings

if TYPE_CHECKING:
    from hashbench.losses import Supervision
    from hashbench.training.objective import Objective


class Settings(PulseSettings):
    """``variant``: the simplified objective, which the authors released, or the one made exact at integers.

    ``as_released``: the simplified one with what the authors' code does differently from the paper.
    """

    variant: Literal["simplified", "exact"]
    as_released: bool = False

    @model_validator(mode="after")
    def _only_the_simplified_was_released(self) -> Self:
        if self.as_released and self.variant != "simplified":
            raise ValueError("as_released is about variant = 'simplified': no other was released")
        return self


def talr_method(module: str, losses: Callable[[], ModuleType]) -> Method:
    """The method of ``module``, which minimises one of ``losses()``: ``simplified``, ``exact`` and ``as_released``."""

    def objective(settings: Settings, supervision: "Supervision") -> "Objective":  # noqa: ARG001
        loss = getattr(losses(), "as_released" if settings.as_released else settings.variant)
        return partial(loss, n_bins=settings.bins, delta=settings.delta)

    return deep_method(module, Settings, objective, identity=("variant", "tanh_scale"))
