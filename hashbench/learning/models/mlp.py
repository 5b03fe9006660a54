"""A multi-layer perceptron with one hidden layer, for small features and images."""

import math

from hashbench.learning.models._lazy import nn
from hashbench.learning.models._model import Backbone, Model

HIDDEN = 256


def _backbone(shape: tuple[int, ...]) -> Backbone:
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), HIDDEN), nn.ReLU()), HIDDEN


MODEL = Model(f"one hidden layer of {HIDDEN} units", _backbone)
