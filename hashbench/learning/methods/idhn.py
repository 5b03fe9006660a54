"""IDHN: pairwise likelihood, and squares for pairs that share some labels (Zhang, Zou, Lin, Chen, Wang 2019)."""

from functools import partial

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import DeepSettings


class Settings(DeepSettings):
    """Likelihoods of a <h_i, h_j>, a = ``similarity_scale`` / bits."""

    similarity_scale: float = Field(gt=0)
    gamma: float = Field(ge=0)  # the weight of pairs that are similar in part
    eta: float = Field(ge=0)  # the weight of the quantisation term, a mean over bits


def _objective(settings: Settings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(losses.idhn.loss, scale=settings.similarity_scale, gamma=settings.gamma, eta=settings.eta)


METHOD = deep_method(__name__, Settings, _objective, needs="labels")
