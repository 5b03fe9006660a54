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
from hashbench.training.settings import DeepSettings

WEIGHTS, SHAPE = "hasher.safetensors", "hasher.json"
ENCODE_BATCH = 1000


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
    """Normalisation and encoder of one run; ``item_shape`` is that of the stored items, (H, W, C) or (d,)."""

    def __init__(self, settings: DeepSettings, item_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.item_shape = item_shape
        shape = (item_shape[2], item_shape[0], item_shape[1]) if len(item_shape) == 3 else item_shape
        self.normalised = Normalised(item_shape[-1])
        self.encoder = encoder(MODELS.get(settings.model), shape, settings.bits, settings.hash_init)
        self.encoder.to(memory_format=torch.channels_last)

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
        starts = tqdm(
            range(0, len(items), ENCODE_BATCH), "encode", unit="batch", disable=not progress, leave=False, delay=2
        )
        # float32 means float32: cuDNN would take TF32 for it, and bits near 0 would differ from the CPU's
        exactly = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
        batches = (torch.from_numpy(items[start : start + ENCODE_BATCH]).to(device) for start in starts)
        with exactly:
            return np.concatenate([self(self.normalised(batch)).float().cpu().numpy() for batch in batches])

    def save(self, folder: Path) -> None:
        """Writes hasher.safetensors and hasher.json."""
        with atomic(folder / WEIGHTS) as temporary:
            save_file({name: value.contiguous() for name, value in self.state_dict().items()}, temporary)
        write_text(folder / SHAPE, json.dumps({"item_shape": self.item_shape}) + "\n")

    @staticmethod
    def load(settings: DeepSettings, folder: Path, device: str = "auto") -> "DeepHasher":
        """The hasher that ``save`` wrote; raises HashbenchError when the files do not fit the settings."""
        try:
            shape = tuple(int(size) for size in json.loads((folder / SHAPE).read_text())["item_shape"])
            hasher = DeepHasher(settings, shape)
            hasher.load_state_dict(load_file(folder / WEIGHTS))
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            reason = str(error).splitlines()[0]
            raise HashbenchError(f"{folder}: not a whole hasher of these settings: {reason}") from None
        return hasher.to(pick_device(device))
