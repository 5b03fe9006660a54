"""The hasher that deep methods train: it consists of a normalisation and an encoder."""

import hashlib
import json
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from hashbench.foundation.config import json_object
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.files import atomic, write_text
from hashbench.foundation.parallel import slices
from hashbench.foundation.progress import bar as progress_bar
from hashbench.learning.contract import BinaryHasher, DamagedHasher
from hashbench.learning.models import MODELS, RANDOM_WEIGHTS, encoder, layers
from hashbench.learning.steps import Steps
from hashbench.learning.training import weights as files
from hashbench.learning.training.device import pick_device
from hashbench.learning.training.inputs import (
    ChannelNormalisation,
    ChannelUnitNormalisation,
    MeanSubtraction,
    UnitNormalisation,
)
from hashbench.learning.training.layer_steps import steps_of
from hashbench.learning.training.settings import SHA256, DeepSettings, TrainingSettings
from hashbench.learning.training.weights import BackboneFile, Layout

WEIGHTS = "hasher.safetensors"
SHAPE = "hasher.json"
Normalisation = ChannelNormalisation | MeanSubtraction | layers.Prepared
# items at a time; the batch of networks of ImageNet is smaller, because their images have about 224 x 224 pixels
ENCODE_BATCH = 1000
PREPARED_BATCH = 100


class DeepHasher(BinaryHasher, nn.Module):
    """Normalisation and encoder of one run, for stored items of shape (H, W, C) or (d,) and values to ``value_max``."""

    normalised: Normalisation

    def __init__(self, settings: TrainingSettings, item_shape: tuple[int, ...], value_max: float = 1.0) -> None:
        super().__init__()
        self.settings = settings
        self.item_shape = item_shape
        self.value_max = value_max
        images = settings.input_images
        self.normalised = _normalisation(settings.model, settings.normalise, item_shape, value_max, images)
        shape = channels_first_shape(item_shape)
        if isinstance(self.normalised, layers.Prepared):
            shape = self.normalised.shape
        self.encoder = encoder(
            MODELS.get(settings.model),
            shape,
            settings.outputs,
            settings.hash_init,
            initial=settings.hash_layer_init,
            width=settings.width,
            norm=settings.hash_norm,
        )
        network = self.encoder[0]
        hash_layer = self.encoder[1]
        assert isinstance(hash_layer, nn.Linear)
        most = hash_layer.in_features
        if self.has_head:
            unit = UnitNormalisation((most,), 1.0)
            self.encoder[0] = nn.Sequential(OrderedDict(network=network, normalised=unit))
        self.encoder.to(memory_format=torch.channels_last)
        if isinstance(settings, DeepSettings) and settings.bits > most:
            raise HashbenchError(f"{settings.bits} bits from the {most} features of {settings.model}: at most {most}")

    def start(self, items: Tensor, weights: str | None = None, base: object = None) -> None:
        """Sets the initial weights, the normalisation and the anchors of ``kernel`` before training.

        Normalisation and anchors come from the training examples ``items`` where no weights are given. ``weights`` is
        the file of pretrained weights (None: in the data folder). Of ``base``, a trained DeepHasher, backbone and
        normalisation are copied; or, if the settings have a head, its last layer.
        """
        model = self.settings.model
        named = self.settings.weights
        normalised = self.normalised
        if not isinstance(normalised, layers.Prepared) and named == RANDOM_WEIGHTS:
            files.pretrained_model(model)  # it has none to do without: raises HashbenchError
        if base is not None and not self.has_head:
            self._start_from(base)
        elif isinstance(normalised, layers.Prepared):
            files.fill_backbone(model, named, weights, self.backbone, normalised)
        elif named.startswith(SHA256):
            files.own_file(named, weights).fill(self.layout, self.backbone, normalised)
        else:
            normalised.fit(items)
            if isinstance(self.backbone, layers.KernelResponses):
                self.backbone.fit(normalised(items))
        if self.has_head:
            last = self.encoder[1:]
            unit = self.encoder.get_submodule("0.normalised")
            expected = Layout("linear", 1.0, "unit_norm", (unit.get_buffer("mean").shape[0],), 1.0)
            if not isinstance(base, DeepHasher) or base.layout != expected:
                raise HashbenchError("base: no linear head on features that are centred and of norm 1")
            last.load_state_dict(base.encoder[1:].state_dict())
            unit.load_state_dict(base.normalised.state_dict())

    def _start_from(self, base: object) -> None:
        assert isinstance(base, DeepHasher)
        files.require_layout("base", base.layout, self.layout)
        self.normalised.load_state_dict(base.normalised.state_dict())
        self.backbone.load_state_dict(base.backbone.state_dict())

    def train(self, mode: bool = True) -> "DeepHasher":
        """Sets all layers to training or evaluation, but those whose statistics are frozen."""
        super().train(mode)
        if self.settings.batch_norm == "frozen":
            layers.keep_statistics(self.backbone)
        return self

    @property
    def spare(self) -> tuple[int, int] | None:
        """The rows and columns of a stored image that its input leaves out; None if the input is the whole image."""
        if isinstance(self.normalised, layers.Prepared):
            return self.normalised.spare
        return None

    @property
    def has_head(self) -> bool:
        """Whether the hash layer starts from a trained head, on features that are centred and of norm 1."""
        return isinstance(self.settings, DeepSettings) and self.settings.head == "trained"

    @property
    def backbone(self) -> nn.Module:
        """The encoder without its last layer, and without the normalisation of the features if it has one."""
        return self.encoder.get_submodule("0.network" if self.has_head else "0")

    @property
    def layout(self) -> Layout:
        """The layout of backbone and normalisation, with which weights and a base must agree."""
        settings = self.settings
        return Layout(settings.model, settings.width, settings.normalise, self.item_shape, self.value_max)

    def forward(self, inputs: Tensor) -> Tensor:
        """Activations [n, outputs] of normalised inputs."""
        return self.encoder(inputs)

    @torch.inference_mode()
    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:
        """Activations float32[n, outputs], always in float32 arithmetic, so that a bit depends on its item only."""
        if items.shape[1:] != self.item_shape:
            raise HashbenchError(f"items of shape {items.shape[1:]}, the hasher takes {self.item_shape}")
        self.eval()
        device = self.normalised.mean.device
        step = ENCODE_BATCH
        if isinstance(self.normalised, layers.Prepared):
            step = PREPARED_BATCH
        # by default cuDNN computes float32 in TF32; activations near 0 would then have other signs than on the CPU
        exactly = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
        blocks = []
        with exactly, progress_bar("encode", "item", len(items), shown=progress) as bar:
            for part in slices(len(items), step):
                batch = torch.from_numpy(np.ascontiguousarray(items[part])).to(device)
                blocks.append(self(self.normalised(batch)).float().cpu().numpy())
                bar.update(len(batch))
        return np.concatenate(blocks)

    def as_module(self) -> nn.Module:
        """Normalisation and encoder, one after the other, in evaluation."""
        return nn.Sequential(self.normalised, self.encoder).eval()

    def as_steps(self) -> Steps | None:
        """The steps of NumPy in float32; None for a network with other layers than linear and kernel ones."""
        return steps_of(self.as_module())

    @torch.no_grad()
    def shift(self, by: NDArray[Any]) -> None:
        """Adds ``by`` [outputs] to the activations, in the last layer: the hash layer, or its batch normalisation."""
        last = self.encoder[-1]
        assert isinstance(last.bias, Tensor)
        last.bias += torch.from_numpy(by).to(last.bias)

    def save(self, folder: Path) -> None:
        """Writes hasher.safetensors and hasher.json."""
        with atomic(folder / WEIGHTS) as temporary:
            save_file({name: value.contiguous() for name, value in self.state_dict().items()}, temporary)
        write_text(folder / SHAPE, json.dumps({"item_shape": self.item_shape, "value_max": self.value_max}) + "\n")

    def checksum(self) -> str:
        """SHA-256 (hex) of all weights."""
        state = self.state_dict()
        content = (state[name].cpu().contiguous().numpy() for name in sorted(state))
        return hashlib.sha256(b"".join(values.tobytes() for values in content)).hexdigest()

    @staticmethod
    def load(settings: TrainingSettings, folder: Path, device: str = "auto") -> "DeepHasher":
        """The hasher that ``save`` wrote; raises DamagedHasher if its files are damaged or do not fit ``settings``."""
        damage = OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError
        damaged = retold(
            lambda cause: f"{folder}: not a whole hasher of these settings: {cause}", *damage, by=DamagedHasher
        )
        with damaged:
            kept = json_object((folder / SHAPE).read_text())
            shape = tuple(int(size) for size in kept["item_shape"])
            hasher = DeepHasher(settings, shape, float(kept["value_max"]))
            hasher.load_state_dict(load_file(folder / WEIGHTS))
        return hasher.to(pick_device(device))


def pretrained_backbone(
    file: BackboneFile, model: str, item_shape: tuple[int, ...], value_max: float
) -> tuple[nn.Module, nn.Module, int]:
    """The normalisation, the backbone of ``model`` and its number of features, with the weights in the ``file``."""
    layout = replace(file.layout, model=model, item_shape=item_shape, value_max=value_max)
    file.require(layout)
    normalised = _normalisation(model, layout.normalise, item_shape, value_max)
    backbone, width = MODELS.get(model).build(channels_first_shape(item_shape), layout.width)
    file.fill(layout, backbone, normalised)
    return normalised, backbone, width


def channels_first_shape(item_shape: tuple[int, ...]) -> tuple[int, ...]:
    """(channels, height, width) of images (height, width, channels); (d,) of features as it is."""
    if len(item_shape) == 3:
        return item_shape[2], item_shape[0], item_shape[1]
    return item_shape


def _normalisation(
    name: str, normalise: str, item_shape: tuple[int, ...], value_max: float, images: str = "resized"
) -> Normalisation:
    model = MODELS.get(name)
    if model.pretrained is not None:
        if normalise != "channel":
            raise HashbenchError(f"normalise = {normalise!r}: {name} takes images as on ImageNet: it must be 'channel'")
        if model.takes is not None:
            return layers.StoredActivations(item_shape)
        return layers.Preprocessor(model.pretrained.input, item_shape, value_max, crop=images == "cropped")
    if images == "cropped":
        raise HashbenchError(f"input_images = 'cropped': {name} takes images as they are stored: 'resized'")
    match normalise:
        case "channel":
            return ChannelNormalisation(item_shape[-1])
        case "channel_unit_norm":
            return ChannelUnitNormalisation(item_shape[-1])
        case "pixel_mean":
            return MeanSubtraction(item_shape, value_max)
    return UnitNormalisation(item_shape, value_max)
