"""QSMI: quadratic spherical mutual information between cosines and relevance (Passalis, Tefas 2021)."""

from functools import partial

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import DeepSettings


class Settings(DeepSettings):
    """``clamped``: the square of the information potential that is to be 1, not the potential itself."""

    clamped: bool
    alpha: float = Field(ge=0)  # the weight of the quantisation term, summed over bits


def _objective(settings: Settings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(losses.qsmi.loss, clamped=settings.clamped, alpha=settings.alpha)


METHOD = deep_method(__name__, Settings, _objective)
