"""A residual network of nine layers for small images, which is quick to pretrain (``benchmarks/backbone.py``)."""

from hashbench.learning.models._lazy import layers, nn
from hashbench.learning.models._model import Backbone, Model, require_images

CHANNELS = 64  # of the first layer at width 1


def resnet9(shape: tuple[int, ...], width: float = 1.0) -> Backbone:
    """The network from images [n, *shape] to features [n, 8 c], and 8 c, where c = 64 ``width`` (rounded).

    3 x 3 convolutions with c, 2 c, 4 c and 8 c channels at 32, 16, 8 and 4 pixels of a side of 32. Two residual blocks
    follow the second and the last of them. The features are the largest activations of each channel.
    """
    require_images("resnet9", shape)  # the side is halved three times
    c = max(1, round(width * CHANNELS))
    parts = [
        _convolution(shape[0], c),
        nn.Sequential(_convolution(c, 2 * c), nn.MaxPool2d(2)),
        layers.Residual(_convolution(2 * c, 2 * c), _convolution(2 * c, 2 * c)),
        nn.Sequential(_convolution(2 * c, 4 * c), nn.MaxPool2d(2)),
        nn.Sequential(_convolution(4 * c, 8 * c), nn.MaxPool2d(2)),
        layers.Residual(_convolution(8 * c, 8 * c), _convolution(8 * c, 8 * c)),
        nn.Sequential(nn.AdaptiveMaxPool2d(1), nn.Flatten()),
    ]
    return nn.Sequential(*parts), 8 * c


def _convolution(before: int, after: int) -> "nn.Module":
    """A 3 x 3 convolution, batch normalisation and ReLU."""
    convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU(inplace=True))


SUMMARY = f"residual network of 9 layers, {CHANNELS} to {8 * CHANNELS} channels: for small images"
MODEL = Model(SUMMARY, resnet9, scaled=resnet9, channels=CHANNELS)
