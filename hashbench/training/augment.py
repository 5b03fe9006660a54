"""Random flips and crops, applied on the device to a whole batch at once."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from hashbench.errors import HashbenchError

PAD = 4


@dataclass(frozen=True)
class Augmentation:
    """The random augmentation of a batch: whether each image is flipped [n], and where its crop starts [2, n].

    None means that no image is flipped or cropped. It is drawn for a whole batch and applied to all or a part of it.
    """

    flip: Tensor | None
    offset: Tensor | None

    def apply(self, images: Tensor, part: slice = slice(None)) -> Tensor:
        """The augmented ``images`` [n, C, H, W], which are the slice ``part`` of the batch."""
        if self.flip is None:
            return images
        if images.ndim != 4:
            raise HashbenchError("augment moves pixels; these items are features: augment = 'none'")
        flip = self.flip[part].to(images.device, non_blocking=True)[:, None, None, None]
        images = torch.where(flip, images.flip(3), images)
        return images if self.offset is None else _shift(images, self.offset[:, part])


def draw(n: int, how: str, generator: torch.Generator, sharing: int = 1) -> Augmentation:
    """The augmentation of ``n`` images: flipped with probability 1/2 and, for crop_flip, shifted by up to 4 pixels.

    Groups of ``sharing`` consecutive images get the same flip and shift. The random numbers are drawn on the CPU, so
    they are the same for every device.
    """
    own = -(-n // sharing)
    flip = torch.rand(own, generator=generator) < 0.5 if how != "none" else None
    offset = torch.randint(0, 2 * PAD + 1, (2, own), generator=generator) if how == "crop_flip" else None
    return Augmentation(
        *(each if each is None else each.repeat_interleave(sharing, -1)[..., :n] for each in (flip, offset))
    )


def _shift(images: Tensor, offset: Tensor) -> Tensor:
    """Pads each image with PAD zeros and cuts a window of the old size at ``offset`` [2, n] (rows, columns)."""
    n, _, height, width = images.shape
    padded = F.pad(images, (PAD, PAD, PAD, PAD))
    rows, columns = offset.to(images.device, non_blocking=True)  # a blocking copy would let the GPU idle
    y = rows[:, None] + torch.arange(height, device=images.device)
    x = columns[:, None] + torch.arange(width, device=images.device)
    picture = torch.arange(n, device=images.device)[:, None, None]
    # index arrays on both sides of the channel slice put the channels last in memory, where convolutions are faster
    return padded[picture, :, y[:, :, None], x[:, None, :]].permute(0, 3, 1, 2)
