"""The hasher that deep methods train: normalisation, encoder, and nothing of the training."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from tqdm import tqdm

from hashbench.errors import HashbenchError
from hashbench.files import atomic, write_text
from hashbench.models import MODELS
from hashbench.models._model import encoder
from hashbench.models._prepare import Prepared
from hashbench.training import pretrained
from hashbench.training.settings import DeepSettings

WEIGHTS, SHAPE = "hasher.safetensors", "hasher.json"
ENCODE_BATCH, PREPARED_BATCH = 1000, 100  # the networks of ImageNet take pictures of some 224 pixels


def pick_device(name: str) -> torch.device:
    """The device called ``name``; ``auto`` is the GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise HashbenchError(f"device {name!r} is not here: auto, cpu or cuda[:N]") from None
    return device


class Normalised(nn.Module):
    """Items as the data set stores them -> float, zero mean and unit variance by channel, channels first."""

    mean: Tensor
    std: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("std", torch.ones(channels))

    def fit(self, items: Tensor) -> None:
        """Takes mean and standard deviation of ``items`` [n, ..., channels]."""
        values = items.to(torch.float64).reshape(-1, items.shape[-1])
        self.mean.copy_(values.mean(dim=0))
        self.std.copy_(values.std(dim=0, correction=0).clamp_min(1e-6))

    def forward(self, items: Tensor) -> Tensor:
        """float32 [n, C, H, W] of images [n, H, W, C], or [n, d] of features [n, d].

        Images stay in memory as they are stored, channels last: convolutions are faster so (on two CPU cores
        0.14 s a batch of 250 of small_cnn in place of 0.17 s).
        """
        values = (items.to(self.mean.dtype) - self.mean) / self.std
        return values.permute(0, 3, 1, 2) if values.ndim == 4 else values


class DeepHasher(nn.Module):
    """Normalisation and encoder of one run; ``item_shape`` is that of the stored items, (H, W, C) or (d,).

    A network that was trained on ImageNet gets images as it did then, from stored values of which ``value_max`` means
    1.0; for others every channel is normalised by the training examples.
    """

    normalised: Normalised | Prepared

    def __init__(self, settings: DeepSettings, item_shape: tuple[int, ...], value_max: float = 1.0) -> None:
        super().__init__()
        self.settings, self.item_shape, self.value_max = settings, item_shape, value_max
        model = MODELS.get(settings.model)
        if model.pretrained is not None:
            self.normalised = Prepared(model.pretrained.input, item_shape, value_max)
            shape: tuple[int, ...] = self.normalised.shape
        else:
            self.normalised = Normalised(item_shape[-1])
            shape = (item_shape[2], item_shape[0], item_shape[1]) if len(item_shape) == 3 else item_shape
        self.encoder = encoder(model, shape, settings.bits, settings.hash_init)
        self.encoder.to(memory_format=torch.channels_last)

    def start(self, items: Tensor, weights: str | None = None) -> None:
        """Makes it what training begins with: normalised by the training ``items``, or pretrained.

        ``weights`` is the file of the pretrained weights, where it is not the official one in the data folder.
        """
        if isinstance(self.normalised, Prepared):
            backbone = self.encoder.get_submodule("0")
            pretrained.start(self.settings.model, self.settings.weights, weights, backbone, self.normalised)
        else:
            pretrained.refuse(self.settings.model, self.settings.weights)
            self.normalised.fit(items)

    def forward(self, inputs: Tensor) -> Tensor:
        """Activations [n, bits] of normalised inputs."""
        activations: Tensor = self.encoder(inputs)
        return activations

    @torch.inference_mode()
    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:
        """Activations float32[n, bits], always in float32 arithmetic, so that a bit depends on its item alone."""
        if items.shape[1:] != self.item_shape:
            raise HashbenchError(f"items of shape {items.shape[1:]}, the hasher takes {self.item_shape}")
        self.eval()
        device = self.normalised.mean.device
        step = PREPARED_BATCH if isinstance(self.normalised, Prepared) else ENCODE_BATCH
        starts = tqdm(range(0, len(items), step), "encode", unit="batch", disable=not progress, leave=False, delay=2)
        # float32 means float32: cuDNN would take TF32 for it, and bits near 0 would differ from the CPU's
        exactly = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
        batches = (torch.from_numpy(items[start : start + step]).to(device) for start in starts)
        with exactly:
            return np.concatenate([self(self.normalised(batch)).float().cpu().numpy() for batch in batches])

    def save(self, folder: Path) -> None:
        """Writes hasher.safetensors and hasher.json."""
        with atomic(folder / WEIGHTS) as temporary:
            save_file({name: value.contiguous() for name, value in self.state_dict().items()}, temporary)
        write_text(folder / SHAPE, json.dumps({"item_shape": self.item_shape, "value_max": self.value_max}) + "\n")

    @staticmethod
    def load(settings: DeepSettings, folder: Path, device: str = "auto") -> "DeepHasher":
        """The hasher that ``save`` wrote; raises HashbenchError when the files do not fit the settings."""
        try:
            kept = json.loads((folder / SHAPE).read_text())
            shape = tuple(int(size) for size in kept["item_shape"])
            hasher = DeepHasher(settings, shape, float(kept.get("value_max", 1.0)))
            hasher.load_state_dict(load_file(folder / WEIGHTS))
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            reason = str(error).splitlines()[0]
            raise HashbenchError(f"{folder}: not a whole hasher of these settings: {reason}") from None
        return hasher.to(pick_device(device))
