"""A small convolutional network for 32 x 32 images that trains from scratch on two CPU cores in minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hashbench.errors import HashbenchError
from hashbench.models._model import Model

if TYPE_CHECKING:
    from torch import nn

WIDTHS = (32, 64, 128)


def _backbone(shape: tuple[int, ...]) -> tuple[nn.Module, int]:
    from torch import nn

    if len(shape) != 3 or min(shape[1:]) < 8:
        raise HashbenchError(f"small_cnn takes images of 8 x 8 pixels or more, not items of shape {shape}")
    layers: list[nn.Module] = []
    before = shape[0]
    for width in WIDTHS:
        layers += [*_convolution(before, width), *_convolution(width, width), nn.MaxPool2d(2)]
        before = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten()), before


def _convolution(before: int, after: int) -> list[nn.Module]:
    from torch import nn

    return [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]


MODEL = Model("six 3 x 3 convolutions with batch normalisation, 32 to 128 channels", _backbone)
