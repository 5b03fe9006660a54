"""A small convolutional network for 32 x 32 images that trains from scratch on two CPU cores in minutes."""

from hashbench.learning.models._lazy import nn
from hashbench.learning.models._model import Backbone, Model, require_images

WIDTHS = (32, 64, 128, 256)  # channels at 32, 16, 8 and 4 pixels


def _backbone(shape: tuple[int, ...]) -> Backbone:
    require_images("small_cnn", shape)
    layers: list[nn.Module] = []
    before = shape[0]
    for width in WIDTHS:
        layers += [nn.Conv2d(before, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
        layers.append(nn.MaxPool2d(2))
        before = width
    return nn.Sequential(*layers[:-1], nn.AdaptiveAvgPool2d(1), nn.Flatten()), before


MODEL = Model("four 3 x 3 convolutions with batch normalisation, 32 to 256 channels", _backbone)
