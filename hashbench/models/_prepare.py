"""The preprocessing of stored images for a pretrained network, for a whole batch on its device."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hashbench.errors import HashbenchError
from hashbench.models._model import Input


def cubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keys' cubic kernel with a = -1/2, as in MATLAB and Pillow (PyTorch's own bicubic has a = -3/4).

    >>> cubic(np.array([0.0, 0.5, 1.0, 1.5, 2.0])).tolist()
    [1.0, 0.5625, 0.0, -0.0625, 0.0]
    """
    x = np.abs(x)
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x <= 2, far, 0.0))


def linear(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The triangular kernel of bilinear interpolation."""
    return np.maximum(0.0, 1 - np.abs(x))


KERNELS = {"bicubic": (cubic, 4.0), "bilinear": (linear, 2.0)}


def resize_matrix(n_in: int, n_out: int, method: str = "bicubic") -> NDArray[np.float64]:
    """The matrix [n_out, n_in] that resizes a line as MATLAB's ``imresize`` does.

    Pixel u of the result is at position (u + 1/2) n_in / n_out - 1/2 of the line, which is continued by its mirror
    image at both ends. If the line gets shorter, the kernel gets wider by the same factor (imresize's default
    antialiasing). Rows sum to 1. Values are not rounded or clipped; imresize does so with uint8 images.

    >>> resize_matrix(2, 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    kernel, support = KERNELS[method]
    scale = n_out / n_in
    stretch = min(scale, 1.0)
    centre = (np.arange(n_out) + 0.5) / scale - 0.5
    reach = support / stretch / 2
    pixel = np.floor(centre - reach).astype(np.int64)[:, None] + np.arange(math.ceil(2 * reach) + 2)
    weight = kernel(stretch * (centre[:, None] - pixel))
    weight /= weight.sum(axis=1, keepdims=True)
    mirror = np.concatenate([np.arange(n_in), np.arange(n_in)[::-1]])
    matrix = np.zeros((n_out, n_in))
    np.add.at(matrix, (np.arange(n_out)[:, None], mirror[pixel % (2 * n_in)]), weight)
    return matrix


class Preprocessor(nn.Module):
    """Stored images [n, h, w, 1 or 3] -> float32 [n, 3, height, width], the input ``target`` of a pretrained network.

    Both sides are resized, whatever their ratio, without a crop, as in the papers' code. A grey image gets three equal
    channels. ``value_max`` is the stored value that means 1.0.
    """

    mean: Tensor
    std: Tensor
    rows: Tensor
    columns: Tensor

    def __init__(self, target: Input, item_shape: tuple[int, ...], value_max: float | None) -> None:
        super().__init__()
        if len(item_shape) != 3 or item_shape[2] not in (1, 3) or not value_max:
            raise HashbenchError(f"a pretrained network takes images of 1 or 3 channels, not items of {item_shape}")
        gain = target.value_max / value_max
        rows = gain * resize_matrix(item_shape[0], target.size[0])
        columns = resize_matrix(item_shape[1], target.size[1]).T
        mean, std = (torch.tensor(each, dtype=torch.float32)[:, None, None] for each in (target.mean, target.std))
        self.register_buffer("rows", torch.tensor(rows, dtype=torch.float32), persistent=False)
        self.register_buffer("columns", torch.tensor(columns, dtype=torch.float32), persistent=False)
        self.register_buffer("mean", mean.repeat(1, *target.size))
        self.register_buffer("std", std)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The shape of a preprocessed image, (channels, height, width)."""
        return 3, len(self.rows), self.columns.shape[1]

    def set_mean(self, average: Tensor) -> None:
        """Replaces the means of the channels by an average image [3, height, width] or other means [3, 1, 1]."""
        if average.shape[0] != 3 or average.shape[1:] not in (self.mean.shape[1:], (1, 1)):
            shape, size = tuple(average.shape), tuple(self.mean.shape)
            raise HashbenchError(f"an average image of shape {shape}: {size} is expected, or three means")
        self.mean.copy_(average)

    def forward(self, items: Tensor) -> Tensor:
        """The preprocessed images."""
        planes = items.permute(0, 3, 1, 2).to(self.mean.dtype)
        return ((self.rows @ planes @ self.columns) - self.mean) / self.std
