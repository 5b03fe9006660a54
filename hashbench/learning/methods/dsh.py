"""DSH: squared distances with a margin, and outputs near -1 and +1 (Liu, Wang, Shan, Chen 2016).

It is Deep Supervised Hashing. Density sensitive hashing, which learns from no labels, is another method of that name.
"""

from functools import partial

from pydantic import Field

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import DeepSettings


class Settings(DeepSettings):
    """A dissimilar pair costs nothing at a squared distance of ``margin_per_bit`` times bits; the largest is 4 bits."""

    margin_per_bit: float = Field(ge=0)
    alpha: float = Field(ge=0)  # the weight of the quantisation term, summed over bits, of each of two examples


def _objective(settings: Settings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(losses.dsh.loss, margin=settings.margin_per_bit * settings.bits, alpha=settings.alpha)


METHOD = deep_method(__name__, Settings, _objective)
