"""Features of pretrained networks: fc7 of VGG-F and AlexNet, the input of the last layer of other networks."""

from dataclasses import asdict
from functools import partial

import torch
from torch import Tensor, nn

from hashbench.config import derive_seed
from hashbench.features._extractor import Extractor, FeatureModule
from hashbench.models import MODELS, Preprocessor, fill

BATCH = 64


class Network(nn.Module):
    """Preprocessing and backbone: stored images [n, h, w, c] -> activations [n, width]."""

    def __init__(self, prepared: Preprocessor, backbone: nn.Module) -> None:
        super().__init__()
        self.prepared, self.backbone = prepared, backbone.to(memory_format=torch.channels_last)

    def forward(self, items: Tensor) -> Tensor:
        """The activations; the images are channels last, in which convolutions are faster."""
        found: Tensor = self.backbone(self.prepared(items).contiguous(memory_format=torch.channels_last))
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
