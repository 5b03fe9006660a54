"""Normalisations of stored items for encoders without pretrained weights; each is fitted to the training examples."""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

_BLOCK = 1000  # examples that are summed at a time
_VALUES = 1 << 22  # float64 values in memory at a time: 32 MiB


class ChannelNormalisation(nn.Module):
    """Stored items -> floats with zero mean and unit variance in each channel, channels first."""

    mean: Tensor
    std: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(channels))
        self.register_buffer("std", torch.ones(channels))

    def fit(self, items: Tensor) -> None:
        """Sets mean and standard deviation to those of ``items`` [n, ..., channels]; in blocks, in two passes.

        The first pass finds the mean, the second the squared deviations from it. In float64 the items of ImageNet32
        would take 28 GB.
        """
        mean = _mean(_blocks(items))
        variance = _mean((values - mean).square_() for values in _blocks(items))
        self.mean.copy_(mean)
        self.std.copy_(torch.sqrt(variance).clamp_min(1e-6))

    def forward(self, items: Tensor) -> Tensor:
        """float32 [n, C, H, W] of images [n, H, W, C], or [n, d] of features [n, d]."""
        return channels_first((items.to(self.mean.dtype) - self.mean) / self.std)


class MeanSubtraction(nn.Module):
    """Stored items -> floats from 0 to 1, minus the average training item, channels first.

    ``value_max`` is the stored value that means 1.0; ``mean`` [H, W, C] or [d] is the average training item, in [0, 1].
    """

    mean: Tensor

    def __init__(self, item_shape: tuple[int, ...], value_max: float) -> None:
        super().__init__()
        self.value_max = value_max
        self.register_buffer("mean", torch.zeros(item_shape))

    def fit(self, items: Tensor) -> None:
        """Sets the average to that of ``items`` [n, *item_shape]; in blocks, because float64 takes more memory."""
        total = torch.zeros(self.mean.shape, dtype=torch.float64)
        for block in torch.split(items, _BLOCK):
            total += block.to(torch.float64).sum(dim=0)
        self.mean.copy_(total / len(items) / self.value_max)

    def forward(self, items: Tensor) -> Tensor:
        """float32 [n, C, H, W] of images [n, H, W, C], or [n, d] of features [n, d]."""
        return channels_first(items.to(self.mean.dtype) / self.value_max - self.mean)


class UnitNormalisation(MeanSubtraction):
    """``MeanSubtraction``, then each item is divided by its norm; the average item itself stays at the origin."""

    def forward(self, items: Tensor) -> Tensor:
        """float32 [n, C, H, W] of images [n, H, W, C], or [n, d] of features [n, d]."""
        centred: Tensor = super().forward(items)
        return functional.normalize(centred.flatten(1), eps=1e-12).view_as(centred)


def _blocks(items: Tensor) -> Iterator[Tensor]:
    """The values of some ``items`` [n, ..., channels] at a time, float64[values, channels]."""
    n_items = max(1, _VALUES // items[0].numel())
    for block in torch.split(items, n_items):
        yield block.to(torch.float64).reshape(-1, items.shape[-1])


def _mean(blocks: Iterable[Tensor]) -> Tensor:
    """The mean row of all ``blocks`` [values, channels], float64[channels]."""
    # one running sum: a list of sums (small tensors between the large blocks) would keep the heap from shrinking
    total, n = torch.zeros((), dtype=torch.float64), 0
    for block in blocks:
        total, n = total + block.sum(dim=0), n + len(block)
    return total / n


def channels_first(values: Tensor) -> Tensor:
    """Images [n, H, W, C] as [n, C, H, W]; features [n, d] as they are.

    The memory format stays channels last, in which convolutions are faster: a batch of 250 of small_cnn takes 0.14 s
    instead of 0.17 s on two CPU cores.
    """
    return values.permute(0, 3, 1, 2) if values.ndim == 4 else values
