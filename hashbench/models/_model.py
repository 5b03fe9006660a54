"""What a model is: a backbone and, on top of it, one linear hash layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor, nn


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
    """

    summary: str
    backbone: Callable[[tuple[int, ...]], tuple[nn.Module, int]]
    pretrained: Pretrained | None = None


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
