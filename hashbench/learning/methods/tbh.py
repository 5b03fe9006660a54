"""TBH: an auto-encoder through a graph of binary codes (Shen, Qin, Chen, Yu, Liu, Zhu, Shen, Shao 2020).

The probability of a bit is the sigmoid of its activation, so its threshold 1/2 is the activation 0.
"""

import math
from typing import Literal

from pydantic import Field

from hashbench.foundation.config import derive_seed
from hashbench.learning import losses
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods._method import RowObjective, item_method
from hashbench.learning.training.settings import RawSettings


class Settings(RawSettings):
    """The layers of the auto-encoder, which the hasher does not keep."""

    bottleneck: int = Field(ge=1)  # numbers of the continuous bottleneck
    hidden: int = Field(ge=1)  # units between items and bottleneck, and between it and the reconstruction
    noise: Literal["uniform", "half"]  # the threshold of a bit's probability in training: drawn, or 1/2
    reduction: Literal["sum"]  # of the reconstruction error of a batch; a part of the name of each run


def _objective(settings: Settings, data: TrainingData) -> RowObjective:
    return losses.tbh.Objective(
        math.prod(data.items.shape[1:]),
        settings.bits,
        bottleneck=settings.bottleneck,
        hidden=settings.hidden,
        value_max=data.value_max,
        noise=settings.noise,
        seed=derive_seed(data.seed, "objective"),
    )


METHOD = item_method(__name__, Settings, _objective)
