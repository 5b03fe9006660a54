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
    """The likelihood of a pair depends on a <h_i, h_j> with a = ``similarity_scale`` / bits.

    ``linear_above`` is the value of a <h_i, h_j> above which the loss is taken as linear. ``class_num`` is the fixed
    weight of similar pairs; at 0 the weights are those of the paper. ``pairing`` "batch" compares all examples of a
    batch with each other; "streams" compares its first half with its second half.
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
