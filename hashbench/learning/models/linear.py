"""The linear encoder: the hash layer alone, as on LabelMe's GIST features in TALR."""

import math

from hashbench.learning.models._lazy import nn
from hashbench.learning.models._model import Backbone, Model


def _backbone(shape: tuple[int, ...]) -> Backbone:
    return nn.Flatten(), math.prod(shape)


MODEL = Model("no hidden layer: linear hash functions", _backbone)
