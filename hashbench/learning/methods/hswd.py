"""HSWD: HashNet's likelihood, with quantisation by optimal transport to random signs (Doan, Yang, Li 2022)."""

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods import hashnet
from hashbench.learning.methods._method import Objective, Supervision, deep_method


class Settings(hashnet.Settings):
    """HashNet's settings, and the weight of the transport.

    With relaxation "identity" the likelihood is of the tanh of the outputs, and the transport of the outputs
    themselves, as released; with "tanh" both are of the relaxed outputs, and ``tanh_schedule`` may sharpen them.
    """

    alpha: float = Field(ge=0)


def _objective(settings: Settings, supervision: Supervision) -> Objective:
    base = losses.as_row_objective(hashnet.objective(settings, supervision), supervision)
    return losses.hswd.WithTransport(base, alpha=settings.alpha, squash=settings.relaxation == "identity")


METHOD = deep_method(__name__, Settings, _objective)
