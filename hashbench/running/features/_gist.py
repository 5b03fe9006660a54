r"""GIST of a batch of images, with matrix products in place of Fourier transforms.

LMgist.m takes an image to grey, stretches its contrast to 0..255, divides out local contrast, pads by 32 mirrored
pixels, filters in the Fourier domain, takes the modulus, cuts the padding off and averages cells. Each step but the
modulus is linear in rows and in columns. Let M be the mirroring, F the Fourier matrix, G_k the transfer function of
filter k, S the rows of the inverse that are not cut off, and A the average over cells. The response of filter k is
A | S (G_k \odot F M x M' F') S' | A'. Only 32 of the 96 rows and columns of the inverse are computed, and only from
the block of frequencies that the filter passes.
"""

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hashbench.learning.models import layers

PREFILTER_CYCLES = 4  # per image: the frequency at which the Gaussian of the local contrast falls to 1/2
PREFILTER_PAD = 5
CONTRAST_FLOOR = 0.2
BOUNDARY = 32
NOTHING = 1e-8  # of a filter's peak: a smaller value is taken as 0, because it is below the precision of float32

Matrix = NDArray[np.float64]


class Gist(nn.Module):
    """Descriptors [n, scale x orientation x column x row] of images [n, h, w, channels], scales from fine to coarse."""

    rows: Tensor
    columns: Tensor
    pad: Tensor
    blur: Tensor
    transform: Tensor
    inverse: Tensor
    cells: Tensor

    def __init__(self, size: tuple[int, int], side: int, scales: int, orientations: int, grid: int) -> None:
        super().__init__()
        padded = side + 2 * BOUNDARY
        cut = slice(BOUNDARY, BOUNDARY + side)
        rows, columns = (_resized_middle(length, round(length * (side / min(size))), side) for length in size)
        pad = mirror(side + 2 * PREFILTER_PAD, 0, side % 2) @ mirror(side, PREFILTER_PAD, PREFILTER_PAD)
        kept: dict[str, NDArray[Any]] = {"rows": rows, "columns": columns.T, "cells": cells(side, grid)}
        kept |= {"pad": pad, "blur": blur(len(pad))}
        # frequency 0 is in the middle, so that the frequencies that a filter passes are one block
        kept["transform"] = np.fft.fftshift(np.fft.fft(np.eye(padded)), 0) @ mirror(side, BOUNDARY, BOUNDARY)
        kept["inverse"] = np.fft.fftshift(np.fft.ifft(np.eye(padded))[cut], 1)
        filters = transfer(scales, orientations, padded)
        self.side = side
        self.passed = [_passed(filter_) for filter_ in filters]
        kept |= {f"filter{k}": filter_[self.passed[k]] for k, filter_ in enumerate(filters)}
        for name, matrix in kept.items():  # buffers move with the module
            dtype = torch.complex64 if np.iscomplexobj(matrix) else torch.float32
            self.register_buffer(name, torch.tensor(np.ascontiguousarray(matrix), dtype=dtype), persistent=False)

    def forward(self, items: Tensor) -> Tensor:
        """float32 descriptors of a batch."""
        grey = self.rows @ items.to(torch.float32).mean(-1) @ self.columns
        grey = grey - grey.amin((1, 2), keepdim=True)
        image = self._flattened_contrast(grey * 255 / grey.amax((1, 2), keepdim=True).clamp_min(1))
        spectrum = self.transform @ (image.to(torch.complex64) @ self.transform.T)
        answers = [self._energy(spectrum, k) for k in range(len(self.passed))]
        return torch.stack(answers, 1).transpose(2, 3).flatten(1)  # MATLAB's order: rows are fastest

    def _flattened_contrast(self, grey: Tensor) -> Tensor:
        image = self.pad @ grey.log1p() @ self.pad.T
        sharp = image - self.blur @ image @ self.blur.T
        deviation = (self.blur @ sharp.square() @ self.blur.T).abs().sqrt()
        inside = slice(PREFILTER_PAD, PREFILTER_PAD + self.side)
        return (sharp / (CONTRAST_FLOOR + deviation))[:, inside, inside]

    def _energy(self, spectrum: Tensor, k: int) -> Tensor:
        """The mean modulus of the response of filter ``k`` in each cell, [n, grid, grid]."""
        rows, columns = self.passed[k]
        filtered = spectrum[:, rows, columns] * self.get_buffer(f"filter{k}")
        answer = self.inverse[:, rows] @ (filtered @ self.inverse[:, columns].T)
        return self.cells @ answer.abs() @ self.cells.T


def _passed(filter_: Matrix) -> tuple[slice, slice]:
    """The block of frequencies outside of which the transfer function is at most NOTHING."""
    inside = filter_ > NOTHING
    ends = [np.flatnonzero(inside.any(axis))[[0, -1]] for axis in (1, 0)]
    rows, columns = (slice(int(first), int(last) + 1) for first, last in ends)
    return rows, columns


def mirror(n: int, before: int, after: int) -> Matrix:
    """The matrix [before + n + after, n] that continues a line by its mirror images, the last pixel repeated."""
    around = np.arange(-before, n + after) % (2 * n)
    return np.eye(n)[np.where(around < n, around, 2 * n - 1 - around)]


def blur(n: int) -> Matrix:
    """The circulant matrix [n, n], n even, that multiplies frequency f of a line by exp(-f^2 ln 2 / cycles^2)."""
    frequency = np.fft.fftfreq(n, 1 / n)
    gain = np.exp(-(frequency**2) * math.log(2) / PREFILTER_CYCLES**2)
    return np.fft.ifft(gain[:, None] * np.fft.fft(np.eye(n), axis=0), axis=0).real


def transfer(scales: int, orientations: int, n: int) -> Matrix:
    """Transfer functions [scales x orientations, n, n] at frequencies from -n/2 up, rows first.

    Scale s has its peak at .3 / 1.85^s cycles a pixel and falls off as exp(-3.5 (f / peak - 1)^2); orientation o has
    it at -o pi / orientations, and falls off as exp(-2 pi (orientations / 8)^2 angle^2): createGabor of LMgist.m.
    """
    # LMgist's own frequencies, -n/2, 1 - n/2, ...: for an odd n they are half a step beside the transform's
    frequency = np.fft.fftshift(np.fft.fftshift(np.arange(n) - n / 2))
    radius = np.hypot(frequency[None, :], frequency[:, None]) / n
    angle = np.angle(frequency[None, :] + 1j * frequency[:, None])
    filters = []
    for scale in range(scales):
        radial = np.exp(-3.5 * (radius * 1.85**scale / 0.3 - 1) ** 2)
        for orientation in range(orientations):
            turned = angle + np.pi * orientation / orientations
            turned -= 2 * np.pi * (turned > np.pi)
            filters.append(radial * np.exp(-2 * np.pi * (orientations / 8) ** 2 * turned**2))
    return np.stack(filters)


def cells(n: int, grid: int) -> Matrix:
    """The matrix [grid, n] that averages a line over cells, which begin at floor(i n / grid)."""
    edge = np.arange(grid + 1) * n // grid
    pixel = np.arange(n)
    inside = (pixel >= edge[:-1, None]) & (pixel < edge[1:, None])
    return inside / inside.sum(axis=1, keepdims=True)


def _resized_middle(length: int, larger: int, side: int) -> Matrix:
    """The matrix [side, length] that resizes a line to ``larger`` and cuts its middle out."""
    start = (larger - side) // 2
    return layers.resize_matrix(length, larger, "bilinear")[start : start + side]
