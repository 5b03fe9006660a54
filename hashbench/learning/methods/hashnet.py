"""HashNet: weighted pairwise likelihood, with tanh approaching sign by continuation (Cao, Long, Wang, Yu 2017)."""

from functools import partial
from typing import Literal, Self

from pydantic import Field, model_validator

from hashbench.foundation.errors import HashbenchError
from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import DeepSettings


class Settings(DeepSettings):
    """Likelihoods of a <h_i, h_j>, a = ``similarity_scale`` / bits; the last two switches: the released gradient."""

    similarity_scale: float = Field(gt=0)
    linear_above: float = Field(15.0, gt=0)  # the value of a <h_i, h_j> above which the loss is taken as linear
    class_num: float = Field(0.0, ge=0)  # the fixed weight of similar pairs; 0: the weights of the paper
    pairing: Literal["batch", "streams"] = "batch"  # streams: the first half of a batch with its second half
    continuous_similarity: bool = False  # similar pairs pull by 4 times the share of their common labels too
    partly_scaled: bool = False  # most of the gradient lacks the factor a

    @model_validator(mode="after")
    def _scaled_by_stream(self) -> Self:
        if self.partly_scaled and self.pairing != "streams":
            raise ValueError("partly_scaled needs pairing = 'streams'")
        return self


def objective(settings: Settings, supervision: Supervision) -> Objective:
    """The batch loss of these settings; HashbenchError if they need labels and ``supervision`` has none."""
    if settings.continuous_similarity and not isinstance(supervision, losses.LabelSupervision):
        raise HashbenchError(
            "hashnet weighs pairs by the labels they share, and what is near has none: continuous_similarity = false"
        )
    return partial(
        losses.hashnet.loss,
        scale=settings.similarity_scale / settings.bits,
        clip=settings.linear_above,
        weight_similar=settings.class_num,
        streams=settings.pairing == "streams",
        continuous_similarity=settings.continuous_similarity,
        partly_scaled=settings.partly_scaled,
    )


METHOD = deep_method(__name__, Settings, objective)
