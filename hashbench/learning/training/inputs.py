"""From stored items to the input of an encoder: normalisations, fitted to the training examples, and augmentation."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from hashbench.foundation.errors import HashbenchError

PAD = 4  # pixels around an image, of which a crop leaves out twice as many
LEAST_DEVIATION = 1e-7  # of the mean of a channel: float32 rounds a constant by up to 6e-8 of it
_BLOCK = 1000  # examples that are summed at a time
_VALUES = 1 << 22  # float64 values in memory at a time: 32 MiB


class ChannelNormalisation(nn.Module):
    """Stored items -> floats with zero mean and unit variance in each channel, channels first.

    A channel that is the same for all training items is 0: else the little by which another item differs there would be
    divided by almost nothing, and decide all bits of its code.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("std", torch.ones(channels))

    def fit(self, items: Tensor) -> None:
        """Sets mean and standard deviation to those of ``items`` [n, ..., channels]; in blocks, in two passes."""
        mean = _mean(_blocks(items))
        deviation = _mean((values - mean).square_() for values in _blocks(items)).sqrt()
        self.mean.copy_(mean)
        self.std.copy_(deviation.masked_fill(deviation <= LEAST_DEVIATION * mean.abs(), torch.inf))

    def forward(self, items: Tensor) -> Tensor:
        """float32 [n, C, H, W] of images [n, H, W, C], or [n, d] of features [n, d]."""
        return channels_first((items.to(self.mean.dtype) - self.mean) / self.std)


class ChannelUnitNormalisation(ChannelNormalisation):
    """``ChannelNormalisation``, then each item is divided by its norm: a rate then suits features of any scale."""

    def forward(self, items: Tensor) -> Tensor:
        """float32 [n, C, H, W] of images [n, H, W, C], or [n, d] of features [n, d]."""
        return _of_unit_norm(super().forward(items))


class MeanSubtraction(nn.Module):
    """Stored items -> floats from 0 to 1 (``value_max`` means 1), minus the average training item, channels first."""

    mean: Tensor

    def __init__(self, item_shape: tuple[int, ...], value_max: float) -> None:
        super().__init__()
        self.value_max = value_max
        self.register_buffer("mean", torch.zeros(item_shape))

    def fit(self, items: Tensor) -> None:
        """Sets the average to that of ``items`` [n, *item_shape]; in blocks, because float64 takes more memory."""
        blocks = (block.to(torch.float64) for block in torch.split(items, _BLOCK))
        self.mean.copy_(_mean(blocks) / self.value_max)

    def forward(self, items: Tensor) -> Tensor:
        """float32 [n, C, H, W] of images [n, H, W, C], or [n, d] of features [n, d]."""
        return channels_first(items.to(self.mean.dtype) / self.value_max - self.mean)


class UnitNormalisation(MeanSubtraction):
    """``MeanSubtraction``, then each item is divided by its norm; the average item itself stays at the origin."""

    def forward(self, items: Tensor) -> Tensor:
        """float32 [n, C, H, W] of images [n, H, W, C], or [n, d] of features [n, d]."""
        return _of_unit_norm(super().forward(items))


def _of_unit_norm(values: Tensor) -> Tensor:
    """Each item divided by its norm; 0 stays 0, and an item whose norm overflows becomes NaN."""
    items = values.flatten(1)
    norms = torch.linalg.vector_norm(items, dim=1, keepdim=True)
    divisors = norms.clamp_min(1e-12).masked_fill(norms.isinf(), torch.nan)  # ONNX clamps infinity too
    return (items / divisors).view_as(values)


def _blocks(items: Tensor) -> Iterator[Tensor]:
    for block in torch.split(items, max(1, _VALUES // items[0].numel())):
        yield block.to(torch.float64).reshape(-1, items.shape[-1])


def _mean(blocks: Iterable[Tensor]) -> Tensor:
    # one running sum: a list of sums (small tensors between the large blocks) would keep the heap from shrinking
    total = torch.zeros((), dtype=torch.float64)
    n = 0
    for block in blocks:
        total = total + block.sum(dim=0)
        n = n + len(block)
    return total / n


def channels_first(values: Tensor) -> Tensor:
    """Images [n, H, W, C] as [n, C, H, W], in memory still channels last; features [n, d] as they are."""
    if values.ndim == 4:
        return values.permute(0, 3, 1, 2)
    return values


@dataclass(frozen=True)
class Augmentation:
    """The random augmentation of a batch: whether an image is flipped [n], where its crop starts [2, n], or None."""

    flip: Tensor | None
    offset: Tensor | None
    spare: tuple[int, int] | None = None  # rows and columns that a crop leaves out; None: cut out of a padded image

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Augmentation":
        """The same with what ``change`` makes of its tensors, whose last axis is that of the images."""
        flip = None if self.flip is None else change(self.flip)
        offset = None if self.offset is None else change(self.offset)
        return replace(self, flip=flip, offset=offset)

    def cut(self, items: Tensor) -> Tensor:
        """The windows of the stored images ``items`` [n, H, W, C] if ``spare``; else these."""
        if self.spare is None or self.offset is None:
            return items
        height = items.shape[1] - self.spare[0]
        width = items.shape[2] - self.spare[1]
        picture, y, x = _positions(self.offset, height, width, items.device)
        return items[picture, y, x]

    def apply(self, images: Tensor) -> Tensor:
        """The augmented ``images`` [n, C, H, W]."""
        if self.flip is None:
            return images
        if images.ndim != 4:
            raise HashbenchError("augment moves pixels; these items are features: augment = 'none'")
        flip = self.flip.to(images.device, non_blocking=True)[:, None, None, None]
        images = torch.where(flip, images.flip(3), images)
        if self.offset is None or self.spare is not None:
            return images
        padded = F.pad(images, (PAD, PAD, PAD, PAD))
        picture, y, x = _positions(self.offset, images.shape[2], images.shape[3], images.device)
        # index arrays on both sides of the channel slice put the channels last in memory, where convolutions are faster
        return padded[picture, :, y, x].permute(0, 3, 1, 2)


def draw_augmentation(
    n: int, how: str, generator: torch.Generator, sharing: int = 1, spare: tuple[int, int] | None = None
) -> Augmentation:
    """The augmentation of ``n`` images: flipped with probability 1/2 and, for crop_flip, shifted by up to 4 pixels.

    With ``spare``, crop_flip cuts a window out of each stored image instead. Groups of ``sharing`` consecutive images
    get the same flip and shift. The numbers are drawn on the CPU, so they are the same for every device.
    """
    n_draws = -(-n // sharing)
    offset = None
    flip = None
    if how != "none":
        flip = torch.rand(n_draws, generator=generator) < 0.5
    if how == "crop_flip" and spare is None:
        offset = torch.randint(0, 2 * PAD + 1, (2, n_draws), generator=generator)
    elif how == "crop_flip" and spare is not None:
        offset = torch.stack([torch.randint(0, most + 1, (n_draws,), generator=generator) for most in spare])
    return Augmentation(flip, offset, spare).changed(lambda drawn: drawn.repeat_interleave(sharing, -1)[..., :n])


def _positions(offset: Tensor, height: int, width: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The indices of images [n, 1, 1], rows [n, height, 1] and columns [n, 1, width] of windows at ``offset``."""
    rows, columns = offset.to(device, non_blocking=True)  # a blocking copy would let the GPU idle
    picture = torch.arange(len(rows), device=device)
    y = rows[:, None] + torch.arange(height, device=device)
    x = columns[:, None] + torch.arange(width, device=device)
    return picture[:, None, None], y[:, :, None], x[:, None, :]
