"""The settings and the method type of TALR-AP and TALR-NDCG, which differ in their loss only [he2018tieaware]."""

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import model_validator

from hashbench.methods._deep import deep_method
from hashbench.methods._method import Method
from hashbench.training.settings import PulseSettings

if TYPE_CHECKING:
    from hashbench.losses import Supervision
    from hashbench.training.objective import Objective


class Settings(PulseSettings):
    """The hyper-parameters.

    ``variant`` "simplified" is the objective that the authors released; "exact" equals the metric at binary codes.
    ``as_released`` is the simplified objective with the differences between the authors' code and their paper.
    """

    variant: Literal["simplified", "exact"]
    as_released: bool = False

    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of the loss that the settings choose."""
        return {"n_bins": self.bins, "delta": self.delta}

    @model_validator(mode="after")
    def _only_the_simplified_was_released(self) -> Self:
        if self.as_released and self.variant != "simplified":
            raise ValueError("as_released is about variant = 'simplified': no other was released")
        return self


def talr_method(module: str, losses: Callable[[], ModuleType], settings_type: type[Settings] = Settings) -> Method:
    """The method named by ``module``; its settings choose one of the functions of the module that ``losses`` returns.

    These are ``simplified``, ``exact`` and ``as_released``. ``losses`` imports torch, so it is called in training only.
    """

    def objective(settings: Settings, supervision: "Supervision") -> "Objective":  # noqa: ARG001
        loss = getattr(losses(), "as_released" if settings.as_released else settings.variant)
        return partial(loss, **settings.arguments())

    return deep_method(module, settings_type, objective, identity=("variant", "tanh_scale"))
