"""TALR-AP: gradient ascent on the relaxed tie-aware average precision (He, Cakir, Bargal, Sclaroff 2018)."""

from functools import partial
from typing import Literal, Self

from pydantic import model_validator

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import PulseSettings

IDENTITY = ("variant", "tanh_scale")


class Settings(PulseSettings):
    """The ``variant`` "simplified" is AP_s, which the authors released; "exact" is AP_r, the metric at binary codes."""

    variant: Literal["simplified", "exact"]
    as_released: bool = False  # AP_s with the differences between the authors' code and their paper

    @property
    def loss(self) -> str:
        """The name of the loss function."""
        return "as_released" if self.as_released else self.variant

    @model_validator(mode="after")
    def _only_the_simplified_was_released(self) -> Self:
        if self.as_released and self.variant != "simplified":
            raise ValueError("as_released needs variant = 'simplified': no other variant was released")
        return self


def _objective(settings: Settings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(getattr(losses.tie_aware_ap, settings.loss), n_bins=settings.bins, delta=settings.delta)


METHOD = deep_method(__name__, Settings, _objective, IDENTITY)
