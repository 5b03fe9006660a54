"""What a model is: a backbone and, on top of it, one linear hash layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashbench.errors import HashbenchError

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor, nn

RANDOM_WEIGHTS = "none"  # said in place of a file of weights


@dataclass(frozen=True)
class Input:
    """What a pretrained network takes: RGB of ``size`` (height, width), channels first, (value - mean) / std.

    Values run from 0 to ``value_max``, and ``mean`` and ``std`` (one a channel) are in the same unit. An average
    image that comes with the weights takes the place of ``mean``.
    """

    size: tuple[int, int]
    value_max: float
    mean: tuple[float, float, float]
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Weights:
    """The official file of a network's weights: its name, where to get it, and its checksum.

    ``sha256`` may be the beginning of it, as in the names of torchvision's files. ``read_mat`` reads a MatConvNet
    file into tensors by the backbone's names; None where there is no such file.
    """

    file: str
    url: str
    md5: str | None = None
    sha256: str | None = None
    read_mat: Callable[[Path], dict[str, Tensor]] | None = None
    rename: Callable[[str], str] = str  # from the file's names to the backbone's
    brings_average: bool = False  # whether an average image belongs to the weights


@dataclass(frozen=True)
class Pretrained:
    """What a network was trained on ImageNet with: its input and its weights (``models/_weights.py`` fills them in)."""

    input: Input
    weights: Weights


@dataclass(frozen=True)
class Model:
    """``backbone(shape)`` gives a module from items [n, *shape] to features [n, width], and that width.

    ``shape`` is (channels, height, width) of images or (d,) of features. ``pretrained`` says what a network that was
    trained on ImageNet takes and where its weights come from; the backbone's weights are random all the same.
    ``scaled(shape, width)`` is the backbone with ``width`` times the channels; None where there is one width only.
    """

    summary: str
    backbone: Callable[[tuple[int, ...]], tuple[nn.Module, int]]
    pretrained: Pretrained | None = None
    scaled: Callable[[tuple[int, ...], float], tuple[nn.Module, int]] | None = None

    def build(self, shape: tuple[int, ...], width: float = 1.0) -> tuple[nn.Module, int]:
        """The backbone with ``width`` times the channels; raises HashbenchError where that is no choice."""
        if width == 1:
            return self.backbone(shape)
        if self.scaled is None:
            raise HashbenchError(f"width = {width:g}: this model has one width only ({self.summary}): width = 1")
        return self.scaled(shape, width)


def encoder(
    model: Model, shape: tuple[int, ...], outputs: int, hash_init: float, *, xavier: bool = False, width: float = 1.0
) -> nn.Sequential:
    """Backbone, ``width`` times as wide as the model's, and hash layer; activations [n, outputs].

    The hash layer's weights are drawn from N(0, hash_init^2), or He's N(0, 2 / features) where hash_init is 0; with
    ``xavier`` they are uniform in +- sqrt(6 / (features + outputs)) (Glorot and Bengio 2010). Its bias starts at 0.
    """
    from torch import nn

    backbone, features = model.build(shape, width)
    hash_layer = nn.Linear(features, outputs)
    if xavier:
        nn.init.xavier_uniform_(hash_layer.weight)
    else:
        nn.init.normal_(hash_layer.weight, std=hash_init or math.sqrt(2 / features))
    nn.init.zeros_(hash_layer.bias)
    return nn.Sequential(backbone, hash_layer)
