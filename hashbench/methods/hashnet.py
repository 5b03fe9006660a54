"""HashNet: weighted pairwise likelihood, with tanh approaching sign by continuation (Cao, Long, Wang, Yu 2017)."""

from functools import partial
from typing import TYPE_CHECKING

from pydantic import Field

from hashbench.methods._deep import deep_method
from hashbench.training.settings import DeepSettings

if TYPE_CHECKING:
    from hashbench.training.objective import Objective


class Settings(DeepSettings):
    """``similarity_scale``: a of the likelihood of a <h_i, h_j>, times the bits."""

    similarity_scale: float = Field(gt=0)


def _objective(settings: Settings) -> "Objective":
    from hashbench.losses import hashnet

    return partial(hashnet.loss, scale=settings.similarity_scale / settings.bits)


METHOD = deep_method(Settings, _objective)
