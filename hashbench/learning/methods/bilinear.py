"""BP: binary codes of bilinear projections (Gong, Kumar, Rowley, Lazebnik 2013).

The d features of an item are a matrix X, d1 x d2; its code is sgn(R1^T X R2), with b1 columns of R1 and b2 of R2. The
sum over examples of <B, R1^T X R2> rises as B, R2 and R1 are found in turn, each exactly, by singular values.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from pydantic import Field

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._shallow import HashFunction, ShallowSettings, shallow_method, signs
from hashbench.learning.steps import Step, between_matrices, subtract


class Settings(ShallowSettings):
    """``iterations`` on random training examples, ``sample`` at most; 0 leaves the random R1 and R2."""

    iterations: int = Field(ge=0)
    sample: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class Bilinear(HashFunction):
    """activations = left^T X right, row by row, where X are the features minus ``mean`` as a matrix."""

    mean: Floats  # [d]
    left: Floats  # [d1, b1]
    right: Floats  # [d2, b2]

    def steps(self) -> list[Step]:
        """The steps from features [n, d] to activations [n, bits]."""
        product = Step(between_matrices, {"left": self.left, "right": self.right})
        return [Step(subtract, {"by": self.mean}), product]


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Bilinear:
    n, d = features.shape
    d1, d2 = factors(d)[0]
    fitting = [(b1, b2) for b1, b2 in factors(settings.bits) if b1 <= d1 and b2 <= d2]
    if not fitting:
        raise HashbenchError(f"{settings.bits} bits are no product of at most {d1} and at most {d2}: the {d} features")
    random = np.random.default_rng(data.seed)
    b1, b2 = fitting[0]
    left, right = (np.linalg.qr(random.standard_normal(shape))[0] for shape in ((d1, b1), (d2, b2)))
    mean = features.mean(axis=0)
    chosen = random.choice(n, min(settings.sample, n), replace=False)
    x = (features[chosen] - mean).reshape(-1, d1, d2)
    for _ in with_bar(range(settings.iterations), "bilinear", "iteration", shown=data.execution.progress):
        left, right = turned(x, left, right)
    return Bilinear(mean, left, right)


def factors(number: int) -> list[tuple[int, int]]:
    """The pairs with that product, the nearest to a square first, and of two the one whose first is smaller."""
    pairs = [(a, number // a) for a in range(1, number + 1) if number % a == 0]
    return sorted(pairs, key=lambda pair: (abs(pair[0] - pair[1]), pair[0]))


def turned(x: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """R1 and R2 after one iteration, from ``x`` [n, d1, d2], ``left`` [d1, b1] and ``right`` [d2, b2]."""
    codes = signs(left.T @ (x @ right))
    right = scipy.linalg.polar(np.tensordot(x, left @ codes, axes=((0, 1), (0, 1))))[0]
    left = scipy.linalg.polar(np.tensordot(x @ right, codes, axes=((0, 2), (0, 2))))[0]
    return left, right


METHOD = shallow_method(Settings, _fit, Bilinear)
