"""CBE: circulant binary embedding (Yu, Kumar, Gong, Chang 2014).

h(x) = sgn(R D x) with random signs D and a circulant R, the convolution with r, so that an item costs d log d. r is
drawn at random (CBE-rand), or minimises ||B - X D R^T||^2 + penalty ||R R^T - I||^2 (CBE-opt). The signs B and the
spectrum of r are found in turn; each frequency of r is a cubic equation of its own. Of the d bits the first are kept.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._shallow import (
    HashFunction,
    ShallowSettings,
    require_bits_of_features,
    shallow_method,
    signs,
)
from hashbench.learning.steps import Step, convolve, multiply, subtract


class Settings(ShallowSettings):
    """``iterations`` of signs and spectrum on random training examples, ``sample`` at most; 0 is CBE-rand."""

    iterations: int = Field(ge=0)
    penalty: float = Field(gt=0)
    sample: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class Circulant(HashFunction):
    """activations = the first ``bits`` values of the convolution of r with signs * (features - mean)."""

    mean: Floats  # [d]
    signs: Floats  # [d]
    r: Floats  # [d]
    bits: NDArray[np.int64]  # []

    def steps(self) -> list[Step]:
        """The steps from features [n, d] to activations [n, bits]."""
        flipped = [Step(subtract, {"by": self.mean}), Step(multiply, {"by": self.signs})]
        return [*flipped, Step(convolve, {"kernel": self.r, "bits": self.bits})]


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Circulant:
    n, d = features.shape
    random = np.random.default_rng(data.seed)
    mean = features.mean(axis=0)
    flips = random.choice([-1.0, 1.0], d)
    spectrum = np.fft.rfft(random.standard_normal(d))
    if settings.iterations:
        chosen = random.choice(n, min(settings.sample, n), replace=False)
        x = np.fft.rfft((features[chosen] - mean) * flips)
        for _ in with_bar(range(settings.iterations), "cbe", "iteration", shown=data.execution.progress):
            codes = signs(convolved(x, spectrum, d, settings.bits))
            spectrum = best_spectrum(x, codes, d, settings.penalty)
    return Circulant(mean, flips, np.fft.irfft(spectrum, d), np.asarray(settings.bits))


def convolved(x: NDArray[np.complex128], spectrum: NDArray[np.complex128], d: int, bits: int) -> Floats:
    """The first ``bits`` of the ``d`` values of R x, float64[n, bits], from the transforms of x [n, d // 2 + 1], r."""
    return np.fft.irfft(x * spectrum, d)[:, :bits]


def best_spectrum(x: NDArray[np.complex128], codes: Floats, d: int, penalty: float) -> NDArray[np.complex128]:
    """The transform of the best r for ``codes`` [n, bits], which count as 0 beyond their bits.

    At each frequency, m |r|^2 - 2 Re(c* r) + penalty (|r|^2 - 1)^2 has its minimum along c, at the one positive root of
    |r|^3 + (m / (2 penalty) - 1) |r| - |c| / (2 penalty).
    """
    m = np.square(np.abs(x)).sum(axis=0) / d
    c = (x.conj() * np.fft.rfft(codes, d)).sum(axis=0) / d
    linear = m / (2 * penalty) - 1
    constant = np.abs(c) / (2 * penalty)
    size = 1 + np.cbrt(constant)  # above the root, where Newton's steps come down to it
    for _ in range(60):
        size = size - (size**3 + linear * size - constant) / (3 * size**2 + linear)
    return size * np.where(c == 0, 1, c / np.where(c == 0, 1, np.abs(c)))


METHOD = shallow_method(Settings, _fit, Circulant, require=require_bits_of_features)
