"""DHN: pairwise likelihood of cosines or inner products, with a quantisation term (Zhu, Long, Wang, Cao 2016)."""

from functools import partial
from typing import Literal

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import PairWeightSettings


class Settings(PairWeightSettings):
    """The likelihood is of ``similarity_scale`` times the ``similarity``."""

    similarity: Literal["cosine", "inner_product"]
    similarity_scale: float = Field(gt=0)
    eta: float = Field(ge=0)  # the weight of the quantisation term, a mean over bits
    quantisation: Literal["log_cosh", "square"] = "log_cosh"


def _objective(settings: Settings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(
        losses.dhn.loss,
        similarity=settings.similarity,
        scale=settings.similarity_scale,
        weighting=settings.weighting,
        eta=settings.eta,
        quantisation=settings.quantisation,
    )


METHOD = deep_method(__name__, Settings, _objective)
