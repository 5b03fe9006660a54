"""RaBitQ: an unbiased estimate of the distance from 1 to 8 bits a dimension (Gao, Long 2024; Gao et al. 2025).

With a random rotation P and the mean c, r = P (x - c) and q' = P (q - c). The code y of r are odd numbers, one for each
dimension, and <y, q'> / <y, r> estimates <r, q'> / |r|^2; that is unbiased over P.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.learning.contract import Arrays, Floats, TrainingData
from hashbench.learning.methods._dimensions import DimensionQuantiser, dimension_method
from hashbench.learning.methods._quantiser import QuantiserSettings
from hashbench.learning.methods._shallow import random_rotation

# steps of a code with the largest magnitude of an item as its last level, relative to which the steps are tried
STEPS = np.geomspace(0.4, 2.5, 32)


class Settings(QuantiserSettings):
    """The settings of RaBitQ: its queries are real numbers."""

    query_bits: Literal[0]  # a part of the name of each run

    n_factors: ClassVar[int] = 2


@dataclass(frozen=True, eq=False)
class RaBitQ(DimensionQuantiser):
    """The mean c [d], and the rotation P [d, d] by columns."""

    mean: Floats
    rotation: Floats

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return len(self.mean)

    def quantised(self, features: Floats) -> tuple[NDArray[np.uint8], Arrays]:
        """The numbers of y; -|r|^2 / <y, r>, twice for l2; and |r|^2 for l2, -<r, P c> for ip.

        An item at the mean, r = 0, is scaled by 0: its distance is known without an estimate.
        """
        r = (features - self.mean) @ self.rotation
        numbers = nearest_numbers(r, self.bits)
        norms = np.square(r).sum(axis=1)
        products = (self.levels[numbers] * r).sum(axis=1)
        scale = -np.divide(norms, products, out=np.zeros(len(r)), where=products > 0)
        added = norms
        if self.metric == "ip":
            added = -r @ (self.mean @ self.rotation)
        else:
            scale *= 2
        return numbers, {"scale": scale.astype(np.float32), "added": added.astype(np.float32)}

    def terms(self, items: Arrays) -> tuple[Floats, Floats]:
        """The two factors."""
        return items["scale"], items["added"]

    def vectors(self, features: Floats) -> Floats:
        """The turned queries q'."""
        return (features - self.mean) @ self.rotation


def nearest_numbers(r: Floats, bits: int) -> NDArray[np.uint8]:
    """The numbers [n, d] of the codes y with the least angle to ``r``: of y = 2 number - (2^bits - 1).

    Magnitudes are floor(t |r|) + 1/2, at most 2^(bits - 1) - 1/2, for the best t of those that are tried for each item.
    Normal vectors [60, 384] have a squared error of 1 - cosine^2 = .118, .0114 and 5.6e-5 at 2, 4 and 8 bits; the
    search over all t (Gao et al. 2025, algorithm 1) leaves .118, .0114 and 5.0e-5.
    """
    n_magnitudes = 1 << (bits - 1)
    magnitudes = np.abs(r)
    number = np.zeros(r.shape)
    if n_magnitudes > 1:
        largest = magnitudes.max(axis=1, keepdims=True)
        steps = n_magnitudes / np.where(largest > 0, largest, 1)
        best = np.full(len(r), -np.inf)
        for factor in STEPS:
            tried = np.minimum(np.floor(factor * steps * magnitudes), n_magnitudes - 1)
            centres = tried + 0.5
            cosine = np.einsum("nd,nd->n", centres, magnitudes) / np.sqrt(np.einsum("nd,nd->n", centres, centres))
            better = cosine > best
            best[better] = cosine[better]
            number[better] = tried[better]
    return np.where(r > 0, n_magnitudes + number, n_magnitudes - 1 - number).astype(np.uint8)


def _fit(settings: Settings, features: Floats, bits: int, data: TrainingData) -> RaBitQ:  # noqa: ARG001
    levels = 2 * np.arange(1 << bits, dtype=np.float64) - ((1 << bits) - 1)
    rotation = random_rotation(features.shape[1], data.seed)
    return RaBitQ(levels, features.mean(axis=0), rotation, metric=np.array(data.metric))


METHOD = dimension_method(Settings, _fit, RaBitQ, "query_bits")
