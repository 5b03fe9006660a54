"""Features of pretrained networks: fc7 of VGG-F and AlexNet, the input of the last layer of other networks."""

from dataclasses import asdict
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from hashbench.foundation.config import derive_seed
from hashbench.learning.models import MODELS, layers
from hashbench.learning.models import weights as weight_files
from hashbench.learning.training.hasher import pretrained_backbone
from hashbench.learning.training.weights import BackboneFile
from hashbench.running.features._catalogue import Extractor, FeatureModule

# images of ImageNet's size, and small ones. The activations of 16 stay in a core's cache: EfficientNet-Lite0 at 128
# pixels is twice as fast as with 64 (benchmarks/features.py)
BATCH = 16
OWN_BATCH = 250


class Network(nn.Module):
    """Preprocessing (of ImageNet, or of our own pretraining) and backbone: stored items [n, ...] -> [n, width]."""

    def __init__(self, prepared: nn.Module, backbone: nn.Module) -> None:
        super().__init__()
        self.prepared = prepared
        self.backbone = backbone.to(memory_format=torch.channels_last)

    def forward(self, items: Tensor) -> Tensor:
        """The activations; the images are channels last, in which convolutions are faster."""
        inputs: Tensor = self.prepared(items)
        if inputs.ndim == 4:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        return cast("Tensor", self.backbone(inputs))


def folded(network: nn.Module) -> nn.Module:
    """The network with each batch normalisation that follows a convolution taken into its weights: fewer passes."""
    for module in list(network.modules()):
        if not isinstance(module, nn.Sequential):
            continue
        for (name, first), (after, second) in pairwise(list(module.named_children())):
            if isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d):
                setattr(module, name, fuse_conv_bn_eval(first, second))
                setattr(module, after, nn.Identity())
    return network


def extractor(name: str, weights: str | None) -> Extractor:
    """The extractor of the network called ``name``; ``weights`` is a file, "none" (random), or None (official)."""
    model = MODELS.get(name)
    official = model.pretrained
    assert official is not None

    def build(item_shape: tuple[int, ...], value_max: float | None) -> FeatureModule:
        prepared = layers.Preprocessor(official.input, item_shape, value_max)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive_seed("features", name))  # random weights are the same everywhere
            backbone, width = model.backbone(prepared.shape)
        filled = weight_files.fill(name, official, backbone, prepared, weights)
        constants: dict[str, Any] = {"model": name, "weights": filled.file, "weights_sha256": filled.sha256}
        constants |= {"weights_official": filled.official, "input": asdict(official.input)}
        constants |= {"resize": "bicubic of a = -1/2, both sides"}
        return FeatureModule(Network(prepared, folded(backbone.eval())).eval(), width, constants, model.stored)

    return Extractor(model.summary, build, BATCH)


def own_extractor(name: str, file: BackboneFile) -> Extractor:
    """The extractor of the network called ``name`` with weights that ``hashbench pretrain`` made."""

    def build(item_shape: tuple[int, ...], value_max: float | None) -> FeatureModule:
        prepared, backbone, width = pretrained_backbone(file, name, item_shape, value_max or 1.0)
        constants: dict[str, Any] = {"model": name, "weights": file.path.name, "weights_sha256": file.sha256}
        constants |= {"weights_official": False, "layout": asdict(file.layout)}
        return FeatureModule(Network(prepared, backbone).eval(), width, constants)

    return Extractor(MODELS.get(name).summary, build, OWN_BATCH)
