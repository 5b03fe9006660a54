"""torchvision's classifiers without their last layer."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import Any

from hashbench.learning.models._input import Input
from hashbench.learning.models._lazy import layers, nn, torchvision_models
from hashbench.learning.models._model import Backbone, Model, Pretrained, Weights

N_CLASSES = 1000
# networks with auxiliary classifiers, old names of layers in their weights, or weights for images of another size
ODD = ("densenet", "googlenet", "inception", "vit_h")


@cache
def names() -> list[str]:
    """The names of the image classifiers of the installed torchvision; empty if it is not installed."""
    try:
        listed = torchvision_models.list_models(module=torchvision_models)
    except ImportError:
        return []
    return sorted(name for name in listed if not name.startswith(ODD))


def model(name: str) -> Model:
    """The model called ``name``, with ``IMAGENET1K_V1`` weights, which papers use, or torchvision's default."""
    choices = torchvision_models.get_model_weights(name)
    weights: Any = choices.__members__.get("IMAGENET1K_V1", choices.DEFAULT)
    preset = weights.transforms()
    side = preset.crop_size[0]
    file = weights.url.rsplit("/", 1)[1]  # its name ends with the beginning of its checksum
    match = re.search(r"-([0-9a-f]{8,})\.pth$", file)
    checksum = match and match[1]
    pretrained = Pretrained(
        Input((side, side), 1.0, tuple(preset.mean), tuple(preset.std)),
        Weights(file, weights.url, sha256=checksum),
    )
    return Model(f"{name} of torchvision, up to its last layer; {side} pixels", partial(backbone, name), pretrained)


def backbone(name: str, shape: tuple[int, ...]) -> Backbone:
    """The network without its last layer, for RGB images, and the number of its features."""
    network: nn.Module = torchvision_models.get_model(name, weights=None)
    # the classification layer is linear, or (SqueezeNet) a convolution
    modules = reversed(list(network.named_modules()))
    path = next(
        path
        for path, layer in modules
        if N_CLASSES in (vars(layer).get("out_features"), vars(layer).get("out_channels"))
    )
    parent, _, attribute = path.rpartition(".")
    setattr(network.get_submodule(parent), attribute, nn.Identity())
    return network, layers.n_features(name, network, shape)
