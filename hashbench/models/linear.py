"""The linear encoder: the hash layer alone, as on LabelMe's GIST features in TALR."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hashbench.models._model import Model

if TYPE_CHECKING:
    from torch import nn


def _backbone(shape: tuple[int, ...]) -> tuple[nn.Module, int]:
    from torch import nn

    return nn.Flatten(), math.prod(shape)


MODEL = Model("no hidden layer: linear hash functions", _backbone)
