"""Network in Network (Lin, Chen, Yan 2014), in the form of the sparse-hash paper (Jeong and Song 2018)."""

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.models._lazy import nn
from hashbench.learning.models._model import Backbone, Model

SLOPE = 1 / 5.5  # of the leaky ReLUs
# output channels and kernel of each convolution; three blocks, the spatial size halved between them
BLOCKS = (((192, 5), (160, 1), (96, 1)), ((192, 5), (192, 1), (192, 1)), ((192, 3), (192, 1)))


def nin(shape: tuple[int, ...], width: float = 1.0) -> Backbone:
    """The network from images [n, *shape] to features [n, 192], and 192; every layer ``width`` times as wide.

    Poolings treat the border as TensorFlow's SAME padding: the last window may be smaller. Weights are drawn from
    N(0, 2 / fan in), biases are 0. The features are ReLU(mean over the pixels of the last convolution).
    """
    if len(shape) != 3 or any(side % 4 or not side for side in shape[1:]):  # of an odd side SAME takes other windows
        raise HashbenchError(f"nin takes images whose sides are multiples of 4 pixels, not items of shape {shape}")
    layers: list[nn.Module] = []
    before = shape[0]
    poolings = (nn.MaxPool2d(3, 2, ceil_mode=True), nn.AvgPool2d(3, 2, ceil_mode=True), None)
    for block, pooling in zip(BLOCKS, poolings, strict=True):
        for channels, kernel in block:
            after = max(1, round(width * channels))
            convolution = nn.Conv2d(before, after, kernel, padding="same")
            nn.init.kaiming_normal_(convolution.weight)  # fan in, gain sqrt(2)
            nn.init.zeros_(convolution.bias)  # type: ignore[arg-type]  # it has one
            layers += [convolution, nn.LeakyReLU(SLOPE, inplace=True)]
            before = after
        if pooling is not None:
            layers += [pooling, nn.Dropout(0.5)]
    layers[-1] = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.ReLU())  # the last convolution is linear
    return nn.Sequential(*layers), before


SUMMARY = "Network in Network, 8 convolutions, 192 features: the sparse-hash paper's"
MODEL = Model(SUMMARY, nin, scaled=nin, channels=192)
