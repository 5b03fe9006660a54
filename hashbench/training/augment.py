"""Random flips and crops, made on the device for a whole batch at once."""

import torch
import torch.nn.functional as F
from torch import Tensor

from hashbench.errors import HashbenchError

PAD = 4


def augment(images: Tensor, how: str, generator: torch.Generator) -> Tensor:
    """``images`` [n, C, H, W], each flipped with probability 1/2 and, for crop_flip, shifted by up to 4 pixels.

    The draws are made on the CPU from ``generator``, so they are the same on every device.
    """
    if how == "none":
        return images
    if images.ndim != 4:
        raise HashbenchError(f"augment = {how!r} moves pixels; these items are features: augment = 'none'")
    n = len(images)
    flip = torch.rand(n, generator=generator) < 0.5
    images = torch.where(flip.to(images.device)[:, None, None, None], images.flip(3), images)
    return _shift(images, torch.randint(0, 2 * PAD + 1, (2, n), generator=generator)) if how == "crop_flip" else images


def _shift(images: Tensor, offset: Tensor) -> Tensor:
    """Zero-pads by PAD and cuts a window of the old size at ``offset`` [2, n] (rows, columns)."""
    n, _, height, width = images.shape
    padded = F.pad(images, (PAD, PAD, PAD, PAD))
    rows, columns = offset.to(images.device)
    y = rows[:, None] + torch.arange(height, device=images.device)
    x = columns[:, None] + torch.arange(width, device=images.device)
    picture = torch.arange(n, device=images.device)[:, None, None]
    # indices on both sides of the channel slice put the channels last, where convolutions like them
    return padded[picture, :, y[:, :, None], x[:, None, :]].permute(0, 3, 1, 2)
