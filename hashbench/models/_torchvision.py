"""torchvision's classifiers without their last layer."""

from __future__ import annotations

import re
import warnings
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from hashbench.foundation.errors import HashbenchError
from hashbench.models._model import Backbone, Input, Model, Pretrained, Weights

if TYPE_CHECKING:
    from torch import nn

N_CLASSES = 1000
AUXILIARY = ("aux1", "aux2", "AuxLogits")  # auxiliary classifiers, which are used in training on ImageNet only
# the weights of DenseNets have old names of layers, which torch no longer allows: norm.1 for norm1
DENSE_LAYER = re.compile(r"(denselayer\d+\.(?:norm|conv))\.(?=\d)")


@cache
def names() -> list[str]:
    """The names of the image classifiers of the installed torchvision; empty if it is not installed."""
    try:
        from torchvision import models
    except ImportError:
        return []
    return sorted(models.list_models(module=models))


def model(name: str) -> Model:
    """The model called ``name``, with ``IMAGENET1K_V1`` weights, which papers use, or torchvision's default."""
    if name not in names():
        raise HashbenchError(f"torchvision has no classifier {name!r}")
    weights = _weights(name)
    preset = weights.transforms()
    side = preset.crop_size[0]
    file = weights.url.rsplit("/", 1)[1]  # its name ends with the beginning of its checksum
    match = re.search(r"-([0-9a-f]{8,})\.pth$", file)
    checksum = match and match[1]
    pretrained = Pretrained(
        Input((side, side), 1.0, tuple(preset.mean), tuple(preset.std)),
        Weights(file, weights.url, sha256=checksum, rename=partial(DENSE_LAYER.sub, r"\1")),
    )
    return Model(f"{name} of torchvision, up to its last layer; {side} pixels", partial(backbone, name), pretrained)


def backbone(name: str, shape: tuple[int, ...]) -> Backbone:
    """The network without its last layer, for RGB images, and the number of its features."""
    if len(shape) != 3 or shape[0] != 3:
        raise HashbenchError(f"{name} takes RGB images, not items of shape {shape}")
    from hashbench.models._layers import n_features

    headless = _headless(name)
    return headless, n_features(name, headless, shape)


def _weights(name: str) -> Any:
    from torchvision import models

    choices = models.get_model_weights(name)
    return choices.__members__.get("IMAGENET1K_V1", choices.DEFAULT)


def _headless(name: str) -> nn.Module:
    from torch import nn
    from torchvision import models

    build = partial(models.get_model, name, weights=None)
    if name.startswith("vit_"):  # a vision transformer is built for the image size of its weights
        build = partial(build, image_size=_weights(name).transforms().crop_size[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # on how GoogLeNet and Inception draw their first weights
        network: nn.Module = build()
    for auxiliary in AUXILIARY:
        if hasattr(network, auxiliary):
            setattr(network, auxiliary, None)
            network.aux_logits = False  # type: ignore[assignment]
            network.transform_input = True  # type: ignore[assignment]  # as torchvision does with their weights
    path = _last_layer(name, network)
    parent, _, attribute = path.rpartition(".")
    setattr(network.get_submodule(parent), attribute, nn.Identity())
    return network


def _last_layer(name: str, network: nn.Module) -> str:
    """The path of the classification layer: linear, or (SqueezeNet) a convolution."""
    from torch import nn

    for path, layer in reversed(list(network.named_modules())):
        is_linear = isinstance(layer, nn.Linear) and layer.out_features == N_CLASSES
        if is_linear or (isinstance(layer, nn.Conv2d) and layer.out_channels == N_CLASSES):
            return path
    raise HashbenchError(f"{name}: no last layer of {N_CLASSES} classes is found")
