"""What a model is: a backbone and, on top of it, one linear hash layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Model:
    """``backbone(shape)`` gives a module from items [n, *shape] to features [n, width], and that width.

    ``shape`` is (channels, height, width) of images or (d,) of features.
    """

    summary: str
    backbone: Callable[[tuple[int, ...]], tuple[nn.Module, int]]


def encoder(model: Model, shape: tuple[int, ...], bits: int, hash_init: float) -> nn.Sequential:
    """Backbone and hash layer; activations [n, bits].

    The hash layer's weights are drawn from N(0, hash_init^2), or He's N(0, 2 / width) where hash_init is 0;
    its bias starts at 0.
    """
    from torch import nn

    backbone, width = model.backbone(shape)
    hash_layer = nn.Linear(width, bits)
    nn.init.normal_(hash_layer.weight, std=hash_init or math.sqrt(2 / width))
    nn.init.zeros_(hash_layer.bias)
    return nn.Sequential(backbone, hash_layer)
