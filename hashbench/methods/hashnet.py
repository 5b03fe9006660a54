"""HashNet: weighted pairwise likelihood, with tanh approaching sign by continuation (Cao, Long, Wang, Yu 2017)."""

from functools import partial
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from hashbench.methods._deep import deep_method
from hashbench.training.settings import DeepSettings

if TYPE_CHECKING:
    from hashbench.losses import Supervision
    from hashbench.training.objective import Objective


class Settings(DeepSettings):
    """``similarity_scale``: a of the likelihood of a <h_i, h_j>, times the bits.

    ``linear_above``: a <h_i, h_j> from which the loss is linear; ``class_num``: the fixed weight of similar pairs, or
    0; ``pairing``: a batch with itself, or the two halves of it with each other.
    """

    similarity_scale: float = Field(gt=0)
    linear_above: float = Field(15.0, gt=0)
    class_num: float = Field(0.0, ge=0)
    pairing: Literal["batch", "streams"] = "batch"


def _objective(settings: Settings, supervision: "Supervision") -> "Objective":  # noqa: ARG001
    from hashbench.losses import hashnet

    return partial(
        hashnet.loss,
        scale=settings.similarity_scale / settings.bits,
        clip=settings.linear_above,
        weight_similar=settings.class_num,
        streams=settings.pairing == "streams",
    )


METHOD = deep_method(__name__, Settings, _objective)
