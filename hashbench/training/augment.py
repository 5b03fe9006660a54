"""Random flips and crops, applied on the device to a whole batch at once."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from hashbench.foundation.errors import HashbenchError

PAD = 4


@dataclass(frozen=True)
class Augmentation:
    """The random augmentation of a batch: whether each image is flipped [n], and where its crop starts [2, n].

    None means that no image is flipped or cropped. It is drawn for a whole batch and applied to all or a part of it.
    ``spare`` are the rows and columns that a crop leaves out of a stored image; None: it is cut out of a padded one.
    """

    flip: Tensor | None
    offset: Tensor | None
    spare: tuple[int, int] | None = None

    def cut(self, items: Tensor, part: slice = slice(None)) -> Tensor:
        """The windows of the stored images ``items`` [n, H, W, C], without the ``spare`` rows and columns.

        Images are returned as they are if their crop is cut out of padded ones, by ``apply``.
        """
        if self.spare is None or self.offset is None:
            return items
        height, width = items.shape[1] - self.spare[0], items.shape[2] - self.spare[1]
        y, x = _positions(self.offset[:, part], height, width, items.device)
        return items[torch.arange(len(items), device=items.device)[:, None, None], y[:, :, None], x[:, None, :]]

    def apply(self, images: Tensor, part: slice = slice(None)) -> Tensor:
        """The augmented ``images`` [n, C, H, W], which are the slice ``part`` of the batch."""
        if self.flip is None:
            return images
        if images.ndim != 4:
            raise HashbenchError("augment moves pixels; these items are features: augment = 'none'")
        flip = self.flip[part].to(images.device, non_blocking=True)[:, None, None, None]
        images = torch.where(flip, images.flip(3), images)
        return images if self.offset is None or self.spare is not None else _shift(images, self.offset[:, part])


def draw(
    n: int, how: str, generator: torch.Generator, sharing: int = 1, spare: tuple[int, int] | None = None
) -> Augmentation:
    """The augmentation of ``n`` images: flipped with probability 1/2 and, for crop_flip, shifted by up to 4 pixels.

    With ``spare``, crop_flip cuts a window out of each stored image instead; it leaves out so many rows and columns,
    and all places are equally likely. Groups of ``sharing`` consecutive images get the same flip and shift. The random
    numbers are drawn on the CPU, so they are the same for every device.
    """
    own = -(-n // sharing)
    flip = torch.rand(own, generator=generator) < 0.5 if how != "none" else None
    offset = _offset(own, generator, spare) if how == "crop_flip" else None
    flip, offset = (each if each is None else each.repeat_interleave(sharing, -1)[..., :n] for each in (flip, offset))
    return Augmentation(flip, offset, spare)


def _offset(n: int, generator: torch.Generator, spare: tuple[int, int] | None) -> Tensor:
    """Where the crops of ``n`` images start, int64[2, n] (rows, columns)."""
    if spare is None:
        return torch.randint(0, 2 * PAD + 1, (2, n), generator=generator)
    return torch.stack([torch.randint(0, most + 1, (n,), generator=generator) for most in spare])


def _positions(offset: Tensor, height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The rows [n, height] and columns [n, width] of the windows that start at ``offset`` [2, n]."""
    rows, columns = offset.to(device, non_blocking=True)  # a blocking copy would let the GPU idle
    return rows[:, None] + torch.arange(height, device=device), columns[:, None] + torch.arange(width, device=device)


def _shift(images: Tensor, offset: Tensor) -> Tensor:
    """Pads each image with PAD zeros and cuts a window of the old size at ``offset`` [2, n] (rows, columns)."""
    n, _, height, width = images.shape
    padded = F.pad(images, (PAD, PAD, PAD, PAD))
    y, x = _positions(offset, height, width, images.device)
    picture = torch.arange(n, device=images.device)[:, None, None]
    # index arrays on both sides of the channel slice put the channels last in memory, where convolutions are faster
    return padded[picture, :, y[:, :, None], x[:, None, :]].permute(0, 3, 1, 2)
