"""GIST as LMgist.m computes it, with Fourier transforms and loops: the reading that the fast one is held against."""

import numpy as np
from numpy.fft import fft2, fftshift, ifft2

ORIENTATIONS = 8
SCALES = 4
BLOCKS = 4
EXTENSION = 32


def descriptor(image: np.ndarray) -> np.ndarray:
    """512 numbers of a square image [side, side, channels] of LMgist's own image size."""
    grey = image.astype(np.float64).mean(2)
    grey = grey - grey.min()
    grey = 255 * grey / max(1, grey.max())
    return filtered(prefiltered(grey, 4.0))


def prefiltered(grey: np.ndarray, cycles: float) -> np.ndarray:
    width = 5
    spread = cycles / np.sqrt(np.log(2))
    image = np.pad(np.log(grey + 1), width, "symmetric")
    rows, columns = image.shape
    n = max(rows, columns)
    n += n % 2
    image = np.pad(image, ((0, n - rows), (0, n - columns)), "symmetric")
    fx, fy = np.meshgrid(np.arange(n) - n / 2, np.arange(n) - n / 2)
    gain = fftshift(np.exp(-(fx**2 + fy**2) / spread**2))
    output = image - np.real(ifft2(fft2(image) * gain))
    deviation = np.sqrt(np.abs(ifft2(fft2(output**2) * gain)))
    output = output / (0.2 + deviation)
    return output[width : rows - width, width : columns - width]


def filtered(image: np.ndarray) -> np.ndarray:
    side = len(image)
    n = side + 2 * EXTENSION
    spectrum = fft2(np.pad(image, EXTENSION, "symmetric"))
    answers = []
    for transfer in gabors(n):
        answer = np.abs(ifft2(spectrum * transfer))[EXTENSION : n - EXTENSION, EXTENSION : n - EXTENSION]
        answers.append(blocks(answer).ravel(order="F"))
    return np.concatenate(answers)


def gabors(n: int) -> list[np.ndarray]:
    fx, fy = np.meshgrid(np.arange(n) - n / 2, np.arange(n) - n / 2)
    radius = fftshift(np.sqrt(fx**2 + fy**2))
    angle = fftshift(np.angle(fx + 1j * fy))
    transfers = []
    for scale in range(1, SCALES + 1):
        for orientation in range(1, ORIENTATIONS + 1):
            width = 0.35
            peak = 0.3 / 1.85 ** (scale - 1)
            sharpness = 16 * ORIENTATIONS**2 / 32**2
            t = angle + np.pi / ORIENTATIONS * (orientation - 1)
            t = t + 2 * np.pi * (t < -np.pi) - 2 * np.pi * (t > np.pi)
            transfers.append(np.exp(-10 * width * (radius / n / peak - 1) ** 2 - 2 * sharpness * np.pi * t**2))
    return transfers


def blocks(answer: np.ndarray) -> np.ndarray:
    edge = np.fix(np.linspace(0, len(answer), BLOCKS + 1)).astype(int)
    means = np.zeros((BLOCKS, BLOCKS))
    for i in range(BLOCKS):
        for j in range(BLOCKS):
            means[i, j] = answer[edge[i] : edge[i + 1], edge[j] : edge[j + 1]].mean()
    return means
