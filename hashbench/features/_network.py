"""Features of pretrained networks: fc7 of VGG-F and AlexNet, the input of the last layer of other networks."""

from dataclasses import asdict
from functools import partial

import torch
from torch import Tensor, nn

from hashbench.features._extractor import Extractor, FeatureModule
from hashbench.foundation.config import derive_seed
from hashbench.models import MODELS, Preprocessor, fill
from hashbench.training.hasher import pretrained_backbone
from hashbench.training.weights import BackboneFile

BATCH, OWN_BATCH = 64, 250  # images of ImageNet's size, and small ones


class Network(nn.Module):
    """Preprocessing (of ImageNet, or of our own pretraining) and backbone: stored items [n, ...] -> [n, width]."""

    def __init__(self, prepared: nn.Module, backbone: nn.Module) -> None:
        super().__init__()
        self.prepared, self.backbone = prepared, backbone.to(memory_format=torch.channels_last)

    def forward(self, items: Tensor) -> Tensor:
        """The activations; the images are channels last, in which convolutions are faster."""
        inputs: Tensor = self.prepared(items)
        inputs = inputs.contiguous(memory_format=torch.channels_last) if inputs.ndim == 4 else inputs
        found: Tensor = self.backbone(inputs)
        return found


def extractor(name: str, weights: str | None) -> Extractor:
    """The extractor of the network called ``name``; ``weights`` is a file, "none" (random), or None (official)."""
    return Extractor(MODELS.get(name).summary, partial(_build, name, weights), BATCH)


def _build(name: str, weights: str | None, item_shape: tuple[int, ...], value_max: float | None) -> FeatureModule:
    model = MODELS.get(name)
    assert model.pretrained is not None
    prepared = Preprocessor(model.pretrained.input, item_shape, value_max)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed("features", name))  # random weights are the same everywhere
        backbone, width = model.backbone(prepared.shape)
    filled = fill(name, model.pretrained, backbone, prepared, weights)
    constants = {
        "model": name,
        "weights": filled.file,
        "weights_sha256": filled.sha256,
        "weights_official": filled.official,
        "input": asdict(model.pretrained.input),
        "resize": "bicubic of a = -1/2, both sides",
    }
    return FeatureModule(Network(prepared, backbone).eval(), width, constants)


def own_extractor(name: str, own: BackboneFile) -> Extractor:
    """The extractor of the network called ``name`` with weights that ``hashbench pretrain`` made."""
    return Extractor(MODELS.get(name).summary, partial(_build_own, name, own), OWN_BATCH)


def _build_own(name: str, own: BackboneFile, item_shape: tuple[int, ...], value_max: float | None) -> FeatureModule:
    prepared, backbone, width = pretrained_backbone(own, name, item_shape, value_max or 1.0)
    constants = {
        "model": name,
        "weights": own.path.name,
        "weights_sha256": own.sha256,
        "weights_official": False,
        "layout": asdict(own.layout),
    }
    return FeatureModule(Network(prepared, backbone).eval(), width, constants)
