"""LCDSH: pairwise likelihood on which relaxed and binary codes agree (Zhu, Gao 2017)."""

from functools import partial

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import DeepSettings


class Settings(DeepSettings):
    """The settings."""

    eta: float = Field(ge=0)  # the weight of the difference between the probabilities of relaxed and of binary codes


def _objective(settings: Settings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(losses.lcdsh.loss, eta=settings.eta)


METHOD = deep_method(__name__, Settings, _objective)
