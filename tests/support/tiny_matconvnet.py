"""A small network in MatConvNet's layout, written as a .mat, and its slow forward pass."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

# The reader and the layers that the networks of this kind share. No public network is narrow enough for a test: the
# weights of VGG-F take 200 MB.
from hashbench.learning.models._matconvnet import Conv, Drop, Norm, backbone_of, module, network, read  # noqa: F401

WIDTHS = (3, 4, 5, 4, 3, 7, 24)
SIDE = 224


def cell(items: list[Any]) -> np.ndarray:
    """A 1 x n MATLAB cell."""
    array = np.empty((1, len(items)), dtype=object)
    array[0, :] = items
    return array


def layers(seed: int = 0, widths: tuple[int, ...] = WIDTHS) -> list[dict[str, Any]]:
    """VGG-F's layers of so many channels, fc8 and the softmax included; seeded weights."""
    rng = np.random.default_rng(seed)

    def conv(name: str, kernel: int, before: int, out: int, **more: Any) -> dict[str, Any]:
        filters = rng.normal(0, 1.5 / np.sqrt(kernel * kernel * before), (kernel, kernel, before, out))
        both = filters.astype(np.float32), rng.normal(0, 0.3, (1, out)).astype(np.float32)
        return {"name": name, "type": "conv", "stride": 1, "pad": 0, **more, "weights": cell(list(both))}

    def norm(n: int) -> dict[str, Any]:
        return {"name": f"norm{n}", "type": "lrn", "param": np.array([[5, 2, 1e-4, 0.75]])}

    def relu(n: int) -> dict[str, Any]:
        return {"name": f"relu{n}", "type": "relu"}

    def pool(n: int) -> dict[str, Any]:
        pad = np.array([[0, 1, 0, 1]])
        return {"name": f"pool{n}", "type": "pool", "method": "max", "pool": [3, 3], "stride": 2, "pad": pad}

    a, b, c, d, e, f, g = widths
    return [
        *(conv("conv1", 11, 3, a, stride=4), relu(1), norm(1), pool(1)),
        *(conv("conv2", 5, a, b, pad=2), relu(2), norm(2), pool(2)),
        *(conv("conv3", 3, b, c, pad=1), relu(3), conv("conv4", 3, c, d, pad=1), relu(4)),
        *(conv("conv5", 3, d, e, pad=1), relu(5), pool(5)),
        *(conv("fc6", 6, e, f), relu(6), conv("fc7", 1, f, g), relu(7)),
        *(conv("fc8", 1, g, 10), {"name": "prob", "type": "softmax"}),
    ]


def average_image(seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(90, 130, (SIDE, SIDE, 3)).astype(np.float32)


def save(path: Path, net: list[dict[str, Any]], average: np.ndarray) -> Path:
    normalization = {"imageSize": np.array([[SIDE, SIDE, 3]]), "averageImage": average, "interpolation": "bicubic"}
    scipy.io.savemat(path, {"layers": cell(net), "meta": {"normalization": normalization}}, do_compression=True)
    return path


def forward(net: list[dict[str, Any]], image: np.ndarray) -> np.ndarray:
    """fc7 after its ReLU of one image [h, w, 3] minus its average, by MatConvNet's formulas in loops."""
    x = image.astype(np.float64)
    for layer in net[: [layer["name"] for layer in net].index("relu7") + 1]:
        kind = layer["type"]
        if kind == "conv":
            filters, biases = layer["weights"][0]
            x = convolved(x, filters, biases.ravel(), layer["stride"], layer["pad"])
        elif kind == "relu":
            x = np.maximum(x, 0)
        elif kind == "lrn":
            x = normalised(x, *layer["param"].ravel())
        else:
            x = pooled(x)
    return x.ravel()


def convolved(x: np.ndarray, filters: np.ndarray, biases: np.ndarray, stride: int, pad: int) -> np.ndarray:
    """y(i, j, k) = b_k + sum over u, v, c of f(u, v, c, k) x(i s + u, j s + v, c)."""
    x = np.pad(x, ((pad, pad), (pad, pad), (0, 0)))
    kernel = filters.shape[0]
    height, width = ((length - kernel) // stride + 1 for length in x.shape[:2])
    y = np.zeros((height, width, filters.shape[3]))
    for i in range(height):
        for j in range(width):
            window = x[i * stride : i * stride + kernel, j * stride : j * stride + kernel]
            y[i, j] = np.einsum("uvc,uvck->k", window, filters) + biases
    return y


def normalised(x: np.ndarray, size: float, kappa: float, alpha: float, beta: float) -> np.ndarray:
    """y_c = x_c (kappa + alpha sum over the window of x^2)^-beta; alpha is not divided by the window."""
    y = np.empty_like(x)
    half = (int(size) - 1) // 2
    for c in range(x.shape[2]):
        window = x[:, :, max(0, c - half) : c + half + 1]
        y[:, :, c] = x[:, :, c] * (kappa + alpha * (window**2).sum(2)) ** -beta
    return y


def pooled(x: np.ndarray) -> np.ndarray:
    """The largest of 3 x 3 every 2, padded by one row below and one column on the right: pad [0 1 0 1]."""
    padded = np.pad(x, ((0, 1), (0, 1), (0, 0)), constant_values=-np.inf)
    height, width = ((length - 3) // 2 + 1 for length in padded.shape[:2])
    y = np.empty((height, width, x.shape[2]))
    for i in range(height):
        for j in range(width):
            y[i, j] = padded[2 * i : 2 * i + 3, 2 * j : 2 * j + 3].max((0, 1))
    return y
