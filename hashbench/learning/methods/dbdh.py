"""DBDH: pairwise likelihood of binary codes, with balanced bits (Zheng, Zhang, Lu 2020)."""

from functools import partial
from typing import Literal

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import DeepSettings


class Settings(DeepSettings):
    """Codes are signs with a straight-through gradient, or ("clamped") outputs clamped to [-clip, clip]."""

    codes: Literal["binary", "clamped"]
    clip: float = Field(ge=0)  # an output beyond it has no gradient; 0: all have
    similarity_scale: float = Field(gt=0)
    eta: float = Field(ge=0)  # the weight of the balance term
    balance_over: Literal["items", "bits"]  # the mean that is to be 0: of a bit over items, or of an item over bits
    power: Literal[2]  # of the mean that is to be 0; a part of the name of each run


def _objective(settings: Settings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(
        losses.dbdh.loss,
        binary=settings.codes == "binary",
        clip=settings.clip,
        scale=settings.similarity_scale,
        eta=settings.eta,
        over=settings.balance_over,
    )


METHOD = deep_method(__name__, Settings, _objective)
