"""TALR-AP: gradient ascent on the relaxed tie-aware average precision (He, Cakir, Bargal, Sclaroff 2018).

The variant "simplified" is AP_s, which the authors released; "exact" is AP_r; ``as_released`` is AP_s with the gradient
of their code, and with its value at pulses wider than a bin.
"""

from functools import partial
from typing import Literal, Self

from pydantic import model_validator

from hashbench.methods._method import Objective, Supervision, deep_method
from hashbench.training.settings import PulseSettings

IDENTITY = ("variant", "tanh_scale")


class Settings(PulseSettings):
    """``variant`` "simplified" is the objective that the authors released; "exact" equals the metric at binary codes.

    ``as_released`` is the simplified objective with the differences between the authors' code and their paper.
    """

    variant: Literal["simplified", "exact"]
    as_released: bool = False

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
    from hashbench.losses import tie_aware_ap

    return partial(getattr(tie_aware_ap, settings.loss), n_bins=settings.bins, delta=settings.delta)


METHOD = deep_method(__name__, Settings, _objective, IDENTITY)
