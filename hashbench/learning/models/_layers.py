"""Layers that PyTorch lacks: preprocessing for pretrained networks, kernel responses, normalisation, residuals."""

import math
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.learning.models._input import Input

_BLOCK = 1000  # training examples whose responses are summed at a time


def cubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keys' cubic kernel with a = -1/2, as in MATLAB and Pillow (PyTorch's own bicubic has a = -3/4)."""
    x = np.abs(x)
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x <= 1, near, np.where(x <= 2, far, 0.0))


def triangle(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The linear kernel."""
    return np.maximum(0.0, 1 - np.abs(x))


KERNELS = {"bicubic": (cubic, 4.0), "bilinear": (triangle, 2.0)}  # and the width of what they cover


@lru_cache(256)
def resize_matrix(n_in: int, n_out: int, method: str = "bicubic") -> NDArray[np.float64]:
    """The matrix [n_out, n_in] that resizes a line as MATLAB's ``imresize`` does, without its rounding to uint8.

    Pixel u of the result is at position (u + 1/2) n_in / n_out - 1/2 of the line, which is mirrored at both ends. If
    the line gets shorter, the kernel gets wider by the same factor (antialiasing). Rows sum to 1.
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


class Prepared(nn.Module):
    """Stored items -> the input of a network that has seen ImageNet, or of its last layers: float32 [n, *shape]."""

    mean: Tensor
    shape: tuple[int, ...]
    spare: tuple[int, int] | None = None  # rows and columns of an image that are left out; None: it is resized whole

    def set_mean(self, average: Tensor) -> None:
        """Replaces the means of the channels by an average image [3, height, width] or other means [3, 1, 1]."""


class Preprocessor(Prepared):
    """Stored images [n, h, w, 1 or 3] -> float32 [n, 3, height, width], the input ``target`` of a pretrained network.

    Both sides are resized, whatever their ratio, as in the papers' code; or, if ``crop``, the central window is cut out
    of larger images. Grey images get three equal channels. ``value_max`` is the stored value that means 1.0.
    """

    std: Tensor
    rows: Tensor
    columns: Tensor

    def __init__(
        self, target: Input, item_shape: tuple[int, ...], value_max: float | None, *, crop: bool = False
    ) -> None:
        super().__init__()
        if len(item_shape) != 3 or item_shape[2] not in (1, 3) or item_shape[:2] == (1, 1) or not value_max:
            wanted = "images of 1 or 3 channels and more than one pixel"
            raise HashbenchError(f"a pretrained network takes {wanted}, not items of {item_shape}")
        height, width, _ = item_shape
        self.gain = target.value_max / value_max
        self.shape = (3, *target.size)
        if crop:
            self.spare = (height - target.size[0], width - target.size[1])
            if min(self.spare) < 0:
                window = f"{target.size[0]} x {target.size[1]}"
                why = f"the images are {height} x {width}, but {window} is cut out of them"
                raise HashbenchError(f"input_images = 'cropped': {why}: take 'resized'")
        rows = self.gain * resize_matrix(height, target.size[0])
        columns = resize_matrix(width, target.size[1]).T
        mean = torch.tensor(target.mean, dtype=torch.float32)[:, None, None]
        self.register_buffer("rows", torch.tensor(rows, dtype=torch.float32), persistent=False)
        self.register_buffer("columns", torch.tensor(columns, dtype=torch.float32), persistent=False)
        self.register_buffer("mean", mean.repeat(1, *target.size))
        self.register_buffer("std", torch.tensor(target.std, dtype=torch.float32)[:, None, None])

    def set_mean(self, average: Tensor) -> None:
        if average.shape[0] != 3 or average.shape[1:] not in (self.mean.shape[1:], (1, 1)):
            size = tuple(self.mean.shape)
            raise HashbenchError(
                f"an average image of shape {tuple(average.shape)}: {size} is expected, or three means"
            )
        self.mean.copy_(average)

    def forward(self, items: Tensor) -> Tensor:
        """The preprocessed images; with ``crop``, images that already have the input's size are taken whole."""
        if self.spare is None:
            return self.resized(items, self.rows, self.columns)
        _, height, width = self.shape
        top = (items.shape[1] - height) // 2
        left = (items.shape[2] - width) // 2
        window = items[:, top : top + height, left : left + width]
        return (self.gain * window.permute(0, 3, 1, 2).to(self.mean.dtype) - self.mean) / self.std

    def of_squares(self, items: Tensor, squares: list[tuple[int, int, int]]) -> Tensor:
        """The preprocessed squares (top, left, side) of ``items`` [n, h, w, channels], one of each."""
        height, width = self.shape[1:]
        (n, h, w) = items.shape[:3]
        dtype = self.mean.dtype
        rows = np.zeros((n, 1, height, h))
        columns = np.zeros((n, 1, w, width))
        for item, (top, left, side) in enumerate(squares):
            rows[item, 0, :, top : top + side] = self.gain * resize_matrix(side, height)
            columns[item, 0, left : left + side] = resize_matrix(side, width).T
        matrices = [torch.from_numpy(matrix).to(self.mean.device, dtype) for matrix in (rows, columns)]
        return self.resized(items, *matrices)

    def resized(self, items: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """The images ``rows @ plane @ columns``, minus the mean, divided by the standard deviation."""
        planes = items.permute(0, 3, 1, 2).to(self.mean.dtype)
        return ((rows @ planes @ columns) - self.mean) / self.std


class StoredActivations(Prepared):
    """Stored activations float16[n, d], of the layers before those that are trained -> float32 [n, d]."""

    def __init__(self, item_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.shape = item_shape
        self.register_buffer("mean", torch.zeros(()), persistent=False)

    def forward(self, items: Tensor) -> Tensor:
        """The same numbers in float32; an average image was subtracted by the layers before."""
        return items.to(self.mean.dtype)


class FrozenStatistics(nn.Sequential):
    """Layers that are trained while their batch normalisation keeps the statistics of their pre-training."""

    def train(self, mode: bool = True) -> "FrozenStatistics":
        """Sets all layers but batch normalisation to training or evaluation."""
        super().train(mode)
        keep_statistics(self)
        return self


def keep_statistics(network: nn.Module) -> None:
    """Sets batch normalisation in ``network`` to evaluation: only its scale and shift are trained."""
    for layer in network.modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            layer.eval()


class KernelResponses(nn.Module):
    """Inputs [n, ...] -> exp(-||x - a||^2 / (2 bandwidth)) - mean, a column for each anchor a, as in KSH."""

    anchors: Tensor
    bandwidth: Tensor
    mean: Tensor

    def __init__(self, n_values: int, n_anchors: int) -> None:
        super().__init__()
        self.register_buffer("anchors", torch.zeros(n_anchors, n_values))
        self.register_buffer("bandwidth", torch.ones(()))
        self.register_buffer("mean", torch.zeros(n_anchors))

    def fit(self, inputs: Tensor) -> None:
        """Sets anchors (drawn by torch's global generator), bandwidth and mean from the training examples [n, ...]."""
        flat = inputs.flatten(1)
        if len(flat) < len(self.anchors):
            raise HashbenchError(f"{len(self.anchors)} anchors from {len(flat)} training examples: at most as many")
        self.anchors.copy_(flat[torch.randperm(len(flat))[: len(self.anchors)]])
        blocks = torch.split(flat, _BLOCK)
        total = sum(float(self._squared_distances(block).double().sum()) for block in blocks)
        self.bandwidth.fill_(total / len(flat) / len(self.anchors))
        means = torch.stack([self._responses(block).double().sum(dim=0) for block in blocks])
        self.mean.copy_(means.sum(dim=0) / len(flat))

    def forward(self, inputs: Tensor) -> Tensor:
        """Centred responses float32[n, n_anchors]; in float32 under autocast too, for they are differences."""
        with torch.autocast(inputs.device.type, enabled=False):
            return self._responses(inputs.flatten(1).to(self.anchors.dtype)) - self.mean

    def _responses(self, inputs: Tensor) -> Tensor:
        return torch.exp(self._squared_distances(inputs) / (-2 * self.bandwidth))

    def _squared_distances(self, inputs: Tensor) -> Tensor:
        products = inputs @ self.anchors.T
        squares = inputs.square().sum(dim=1)[:, None] + self.anchors.square().sum(dim=1)
        return (squares - 2 * products).clamp_min(0)


class ResponseNorm(nn.Module):
    r"""y_c = x_c / (kappa + alpha \sum_{j near c} x_j^2)^(3/4) over ``size`` channels around c; images [n, c, h, w].

    MatConvNet's ``vl_nnnormalize``: alpha is not divided by ``size``, as it is in Caffe and in PyTorch's
    ``LocalResponseNorm`` (alpha there = size x alpha here). The sum is a 1 x 1 convolution with a band of ones:
    PyTorch's own pools over a fifth axis, and slowly.
    """

    band: Tensor
    kappa: Tensor

    def __init__(self, channels: int, size: int, kappa: float, alpha: float) -> None:
        super().__init__()
        channel = torch.arange(channels)
        near = (channel[:, None] - channel[None, :]).abs() <= (size - 1) // 2
        self.register_buffer("band", alpha * near.float()[:, :, None, None], persistent=False)
        self.register_buffer("kappa", torch.full((channels,), kappa), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Normalised images, of the same shape."""
        energy = F.conv2d(images.square(), self.band, self.kappa)
        root = energy.rsqrt()  # two roots cost a third of a power
        return images * root * root.sqrt()


class Residual(nn.Sequential):
    """The sum of the input and the output of the layers."""

    def forward(self, inputs: Tensor) -> Tensor:
        """A tensor of the shape of ``inputs``."""
        # the layers begin with a convolution, so an inplace ReLU in them does not change ``inputs``
        return inputs + super().forward(inputs)  # type: ignore[no-untyped-call]


class SamePadding(nn.Module):
    """TensorFlow's SAME padding before a convolution: ceil(side / stride) outputs, an odd zero below and on the right.

    PyTorch's ``padding="same"`` takes no stride, and its numbers pad both ends alike, which moves every window of an
    even side by one pixel.
    """

    def __init__(self, kernel: int, stride: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.stride = stride

    def forward(self, images: Tensor) -> Tensor:
        """Padded images [n, c, height, width]."""
        pads: list[int] = []
        for side in images.shape[:1:-1]:  # F.pad begins at the last axis
            total = max(0, (math.ceil(side / self.stride) - 1) * self.stride + self.kernel - side)
            pads += [total // 2, total - total // 2]
        return F.pad(images, pads)


def shape_of_answer(network: nn.Module, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the network's output for an item of ``shape``, computed with meta tensors, which have no data."""
    tensors = {**dict(network.named_parameters()), **dict(network.named_buffers())}
    empty = {key: value.to("meta") for key, value in tensors.items()}
    training = network.training
    answer = torch.func.functional_call(network.eval(), empty, torch.empty(1, *shape, device="meta"))
    network.train(training)
    return tuple(answer.shape[1:])


def n_features(name: str, network: nn.Module, shape: tuple[int, ...]) -> int:
    """The number of features of an image of ``shape``; HashbenchError if ``network`` takes no such image."""
    refused = RuntimeError, ValueError, AssertionError
    with retold(lambda cause: f"{name} does not take images of shape {shape}: {cause[:120]}", *refused):
        return shape_of_answer(network, shape)[0]
