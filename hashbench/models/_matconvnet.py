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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import mat
from hashbench.foundation.errors import HashbenchError
from hashbench.models._model import Backbone, Input, Model, Pretrained, Weights

if TYPE_CHECKING:
    from torch import Tensor, nn

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
    """Local response normalisation; the four numbers are ``param`` in MatConvNet."""

    name: str
    size: int
    kappa: float
    alpha: float
    beta: float


class Pool(NamedTuple):
    """Max pooling, 3 x 3 with stride 2, padded below and on the right only: MatConvNet's pad [0 1 0 1]."""

    name: str


class Drop(NamedTuple):
    """Dropout with probability 1/2, in training only; the files describe trained networks and leave it out."""

    name: str


Layer = Conv | Full | Norm | Pool | Drop
KINDS = {Conv: ("conv", "relu"), Full: ("conv", "relu"), Norm: ("lrn",), Pool: ("pool",), Drop: ()}  # in a file


def module(layer: Layer, channels: int) -> nn.Module:
    """The PyTorch module of ``layer`` (without the ReLU), for an input with this number of channels."""
    from torch import nn

    from hashbench.models._layers import ResponseNorm

    match layer:
        case Conv(_, out, kernel, stride, pad, groups):
            return nn.Conv2d(channels, out, kernel, stride, pad, groups=groups)
        case Full(_, out, kernel):  # the input may be flat already
            return nn.Sequential(OrderedDict(flat=nn.Flatten(), full=nn.Linear(channels * kernel**2, out)))
        case Norm(_, size, kappa, alpha, beta):
            return ResponseNorm(channels, size, kappa, alpha, beta)
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
            raise HashbenchError(f"{name} takes images of shape {expected}, not items of shape {_by(shape)}")
        return network(layers)

    return backbone


def network(layers: tuple[Layer, ...], channels: int = 3) -> Backbone:
    """The module of ``layers`` with random weights, from images [n, channels, h, w] to [n, width], and the width."""
    from torch import nn

    parts: OrderedDict[str, nn.Module] = OrderedDict()  # with MatConvNet's names: conv1, relu1, norm1, pool1 ...
    for layer in layers:
        parts[layer.name] = module(layer, channels)
        if isinstance(layer, Conv | Full):
            parts[f"relu{layer.name[-1]}"] = nn.ReLU(inplace=True)
            channels = layer.out
    return nn.Sequential(parts), channels


def read(layers: tuple[Layer, ...], path: Path) -> dict[str, Tensor]:
    """The tensors of a MatConvNet file, with the names that they have in the module, and the average image.

    Both layouts are read: ``meta.normalization`` or the older ``normalization``; ``weights`` or the older ``filters``
    and ``biases``; with or without a variable ``net`` around all of it. Raises HashbenchError if the file is damaged,
    or if a layer is missing, of another kind, or has other constants.
    """
    import torch

    content = mat.read(path)
    net = content.get("net")
    if not isinstance(net, dict):
        net = content
    stored = net.get("layers")
    if isinstance(stored, dict):
        stored = [stored]
    if not isinstance(stored, list) or not all(isinstance(layer, dict) for layer in stored):
        raise HashbenchError(f"{path}: no list of layers: a network of MatConvNet is expected")
    by_name = {str(layer.get("name")): layer for layer in stored if layer.get("type") != "dropout"}
    _compare(layers, by_name, path)
    tensors = {AVERAGE: torch.from_numpy(_average(net, path))}
    for layer in layers:
        if isinstance(layer, Conv | Full):
            filters, biases = _weights_of(by_name[layer.name], f"{path}: layer {layer.name}")
            filters = filters.transpose(3, 2, 0, 1)
            stem = layer.name
            if isinstance(layer, Full):
                filters = filters.reshape(len(filters), -1)
                stem = f"{stem}.full"
            tensors[f"{stem}.weight"] = torch.from_numpy(np.array(filters, np.float32, order="C"))
            tensors[f"{stem}.bias"] = torch.from_numpy(np.array(biases.reshape(-1), np.float32))
    return tensors


def _compare(layers: tuple[Layer, ...], by_name: dict[str, dict[str, Any]], path: Path) -> None:
    """Raises HashbenchError where the layers of a file are not ``layers``, in their order, with their constants."""
    for layer in layers:
        if KINDS[type(layer)] and layer.name not in by_name:
            raise HashbenchError(f"{path}: layer {layer.name} is missing: it has {', '.join(by_name) or 'none'}")
    kinds = [str(layer.get("type")).replace("normalize", "lrn") for layer in by_name.values()]
    expected: list[str] = []
    for layer in layers:
        expected += KINDS[type(layer)]
    if kinds[: len(expected)] != expected:
        raise HashbenchError(f"{path}: layers {' '.join(kinds[: len(expected)])}, not {' '.join(expected)}")
    for layer in layers:
        if isinstance(layer, Norm):
            needed = layer[1:]
            param = by_name[layer.name].get("param")
            if not isinstance(param, np.ndarray):
                raise HashbenchError(f"{path}: layer {layer.name}: param is missing, not {list(needed)}")
            if param.size != 4 or not np.allclose(param, needed, 1e-3, 0):
                raise HashbenchError(
                    f"{path}: layer {layer.name}: param is {param.ravel().tolist()}, not {list(needed)}"
                )


def _weights_of(layer: dict[str, Any], where: str) -> tuple[NDArray[Any], NDArray[Any]]:
    weights = layer.get("weights") or [layer.get("filters"), layer.get("biases")]
    if (
        not isinstance(weights, list)
        or len(weights) != 2
        or not all(isinstance(array, np.ndarray) and array.dtype.kind == "f" for array in weights)
        or not 2 <= weights[0].ndim <= 4
    ):
        raise HashbenchError(f"{where}: filters and biases are expected as two arrays of floats")
    filters, biases = weights
    return filters.reshape(filters.shape + (1,) * (4 - filters.ndim)), biases


def _average(net: dict[str, Any], path: Path) -> NDArray[np.float32]:
    meta = net.get("meta")
    if not isinstance(meta, dict):
        meta = net
    normalization = meta.get("normalization")
    average = None
    if isinstance(normalization, dict):
        average = normalization.get("averageImage")
    if not isinstance(average, np.ndarray) or average.size % 3 or average.size == 0:
        raise HashbenchError(f"{path}: normalization.averageImage is missing: an image or three means are expected")
    if average.size == 3:
        average = average.reshape(1, 1, 3)
    if average.ndim != 3 or average.shape[2] != 3:
        raise HashbenchError(f"{path}: averageImage is {_by(average.shape)}, height x width x 3 is expected")
    return np.array(average.transpose(2, 0, 1), np.float32, order="C")


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))
