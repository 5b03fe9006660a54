"""TALR-NDCG: gradient ascent on the relaxed tie-aware NDCG (He, Cakir, Bargal, Sclaroff 2018)."""

from functools import partial
from typing import Any, Literal, Self

from pydantic import model_validator

from hashbench.methods import talr_ap
from hashbench.methods._method import Objective, Supervision, deep_method


class Settings(talr_ap.Settings):
    """The variant "simplified" is DCG_s, with ``as_released`` the gains that the authors released; "exact" is DCG_r."""

    # the type of the levels, which limits the gains: int8 (126) before May 2021, int16 (32,766) since commit a3b605e
    released_levels: Literal["int8", "int16"] = "int8"

    @model_validator(mode="after")
    def _only_released_gains_are_limited(self) -> Self:
        if self.released_levels != "int8" and not self.as_released:
            raise ValueError("released_levels limits the gains of as_released only: set as_released = true")
        return self


def _objective(settings: Settings, supervision: Supervision) -> Objective:  # noqa: ARG001
    from hashbench.losses import tie_aware_ndcg

    levels: dict[str, Any] = {"levels": settings.released_levels} if settings.as_released else {}
    return partial(getattr(tie_aware_ndcg, settings.loss), n_bins=settings.bins, delta=settings.delta, **levels)


METHOD = deep_method(__name__, Settings, _objective, talr_ap.IDENTITY)
