"""A multi-layer perceptron with one hidden layer, for small features and images."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hashbench.models._model import Model

if TYPE_CHECKING:
    from torch import nn

HIDDEN = 256


def _backbone(shape: tuple[int, ...]) -> tuple[nn.Module, int]:
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), HIDDEN), nn.ReLU()), HIDDEN


MODEL = Model(f"one hidden layer of {HIDDEN} units", _backbone)
