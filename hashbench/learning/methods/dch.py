"""DCH: likelihood under a Cauchy distribution of the distances of pairs (Cao, Long, Liu, Wang 2018)."""

from functools import partial
from typing import Literal

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import PairWeightSettings


class Settings(PairWeightSettings):
    """At the distance ``gamma`` a pair is as likely to be similar as not.

    The cosine distance of binary codes is the Hamming distance, the (squared) Euclidean one is 4 times that.
    """

    distance: Literal["cosine", "euclidean"]
    gamma: float = Field(gt=0)
    eta: float = Field(ge=0)  # the weight of the quantisation term
    quantisation: Literal["cauchy", "square"] = "cauchy"


def _objective(settings: Settings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(
        losses.dch.loss,
        distance=settings.distance,
        gamma=settings.gamma,
        weighting=settings.weighting,
        eta=settings.eta,
        quantisation=settings.quantisation,
    )


METHOD = deep_method(__name__, Settings, _objective)
