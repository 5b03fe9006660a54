"""Networks of MatConvNet's model zoo: the description of their layers, the PyTorch module, and the ``.mat`` reader.

Public ports have made these mistakes: filters are stored as height x width x in x out, so PyTorch's weights are their
``transpose(3, 2, 0, 1)``; alpha of the normalisation is not divided by its window; the pools of VGG-F are padded below
and on the right only, which is ``ceil_mode`` in PyTorch; the input is RGB from 0 to 255 minus an average image, without
a division.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.learning.models import _lazy
from hashbench.learning.models._input import Input
from hashbench.learning.models._lazy import nn
from hashbench.learning.models._model import Backbone, Model, Pretrained, Weights
from hashbench.scoring.codes.files import mat

if TYPE_CHECKING:
    from torch import Tensor

ZOO = "https://www.vlfeat.org/matconvnet/models"
CHANNEL_MEANS = (123.68, 116.779, 103.939)  # of ImageNet, from 0 to 255, where no weights bring an average image
AVERAGE = "average_image"  # the key of the average image among the weights, [3, height, width] or [3, 1, 1]


class Conv(NamedTuple):
    """A convolution and the ReLU after it."""

    name: str
    out: int
    kernel: int
    stride: int = 1
    pad: int = 0
    groups: int = 1


class Full(NamedTuple):
    """A fully connected layer, stored as a convolution over its whole ``kernel`` x ``kernel`` input, and its ReLU."""

    name: str
    out: int
    kernel: int = 1


class Norm(NamedTuple):
    """Local response normalisation; these numbers and 0.75 are ``param`` in MatConvNet."""

    name: str
    size: int
    kappa: float
    alpha: float


class Pool(NamedTuple):
    """Max pooling, 3 x 3 with stride 2, padded below and on the right only: MatConvNet's pad [0 1 0 1]."""

    name: str


class Drop(NamedTuple):
    """Dropout with probability 1/2, in training only; the files describe trained networks and leave it out."""

    name: str


Layer = Conv | Full | Norm | Pool | Drop


def module(layer: Layer, channels: int) -> nn.Module:
    """The PyTorch module of ``layer`` (without the ReLU), for an input with this number of channels."""
    match layer:
        case Conv(_, out, kernel, stride, pad, groups):
            return nn.Conv2d(channels, out, kernel, stride, pad, groups=groups)
        case Full(_, out, kernel):  # the input may be flat already
            return nn.Sequential(OrderedDict(flat=nn.Flatten(), full=nn.Linear(channels * kernel**2, out)))
        case Norm(_, size, kappa, alpha):
            return _lazy.layers.ResponseNorm(channels, size, kappa, alpha)
        case Pool():
            return nn.MaxPool2d(3, 2, ceil_mode=True)
        case Drop():
            return nn.Dropout(0.5)


def model_of(summary: str, name: str, layers: tuple[Layer, ...], size: tuple[int, int], file: str, md5: str) -> Model:
    """The model ``name`` of these layers, whose weights, with an average image, are ``file`` of MatConvNet's zoo."""
    weights = Weights(file, f"{ZOO}/{file}", md5=md5, read_mat=partial(read, layers), brings_average=True)
    pretrained = Pretrained(Input(size, 255.0, mean=CHANNEL_MEANS), weights)
    return Model(summary, backbone_of(name, layers, size), pretrained)


def backbone_of(name: str, layers: tuple[Layer, ...], size: tuple[int, int]) -> Callable[[tuple[int, ...]], Backbone]:
    """The function ``backbone`` of a model with these layers, for RGB images of one size."""

    def backbone(shape: tuple[int, ...]) -> Backbone:
        if shape != (3, *size):
            expected = f"3 x {size[0]} x {size[1]}"
            raise HashbenchError(f"{name} takes images of shape {expected}, not items of shape {shape}")
        return network(layers)

    return backbone


def network(layers: tuple[Layer, ...], channels: int = 3) -> Backbone:
    """The module of ``layers`` with random weights, from images [n, channels, h, w] to [n, width], and the width."""
    parts: OrderedDict[str, nn.Module] = OrderedDict()  # with MatConvNet's names: conv1, relu1, norm1, pool1 ...
    for layer in layers:
        parts[layer.name] = module(layer, channels)
        if isinstance(layer, Conv | Full):
            parts[f"relu{layer.name[-1]}"] = nn.ReLU(inplace=True)
            channels = layer.out
    return nn.Sequential(parts), channels


def read(layers: tuple[Layer, ...], path: Path) -> dict[str, Tensor]:
    """The tensors of a MatConvNet file, with the names that they have in the module, and the average image.

    ``normalization`` is in ``meta`` or, of older files, beside it. Raises HashbenchError if the file is damaged, or if
    a layer is missing.
    """
    import torch

    content = mat.read(path)
    damage = KeyError, TypeError, ValueError, AttributeError
    with retold(lambda cause: f"{path}: not a network of MatConvNet with these layers: {cause}", *damage):
        by_name = {str(layer["name"]): layer for layer in content["layers"]}
        average = content.get("meta", content)["normalization"]["averageImage"]
        if average.size == 3:
            average = average.reshape(1, 1, 3)
        arrays = {AVERAGE: average.transpose(2, 0, 1)}
        for layer in layers:
            if isinstance(layer, Conv | Full):
                filters, biases = by_name[layer.name]["weights"]
                filters = filters.reshape(filters.shape + (1,) * (4 - filters.ndim)).transpose(3, 2, 0, 1)
                stem = layer.name
                if isinstance(layer, Full):
                    filters = filters.reshape(len(filters), -1)
                    stem = f"{stem}.full"
                arrays[f"{stem}.weight"] = filters
                arrays[f"{stem}.bias"] = biases.reshape(-1)
        return {name: torch.from_numpy(np.array(array, np.float32, order="C")) for name, array in arrays.items()}
