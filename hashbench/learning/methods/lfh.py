"""LFH: factors u of the examples that explain which of them are relevant to each other (Zhang et al. 2014).

It raises sum_ij (s_ij t_ij - log(1 + e^t_ij)) - ||U||^2 / (2 beta), t_ij = u_i . u_j / 2, over ordered pairs i != j.
Each iteration takes the columns of as many random examples as there are bits, U_S [bits, bits]. All other rows u_i make
a Newton step with a bound of the Hessian, -U_S^T U_S / 8 - I / beta, so no part of a row falls. A ridge regression of
the standardised features to U gives the bits.
"""

from typing import Literal

import numpy as np
import scipy
from pydantic import Field

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._pairs import Ints, RelevantColumns
from hashbench.learning.methods._shallow import (
    Linear,
    ShallowSettings,
    principal_components,
    require_bits,
    ridge_solution,
    shallow_method,
    signs,
    standardisation,
)


class Settings(ShallowSettings):
    """The variance of a factor is ``beta`` / bits; the ridge is ``ridge`` n / d for n examples of d features."""

    iterations: int = Field(ge=1)
    beta: float = Field(gt=0)
    ridge: float = Field(gt=0)
    regressed: Literal["factors", "codes"]  # u or its signs


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    n, d = features.shape
    require_bits(settings.bits, n - 1, "sampled columns, one fewer than training examples")
    relevant = RelevantColumns(data)
    random = np.random.default_rng(data.seed)
    mean, scale = standardisation(features)
    inputs = (features - mean) / scale
    factors = first_factors(inputs, settings.bits)
    for _ in range(settings.iterations):
        sample = random.choice(n, settings.bits, replace=False)
        factors = stepped(factors, relevant.of(sample), sample, settings.beta / settings.bits)
    targets = factors
    if settings.regressed != "factors":
        targets = signs(factors)
    return Linear(mean, ridge_solution(inputs, settings.ridge * n / d)(targets) / scale[:, None])


def first_factors(inputs: Floats, bits: int) -> Floats:
    """U [n, bits]: the first principal components; the features themselves, repeated, where there are not more."""
    if inputs.shape[1] <= bits:
        return inputs[:, np.arange(bits) % inputs.shape[1]]
    _, axes = principal_components(inputs)
    return inputs @ axes[:, np.arange(bits) % axes.shape[1]]


def stepped(factors: Floats, relevant: Floats, sample: Ints, beta: float) -> Floats:
    """U [n, bits] with one step of all rows but the sampled ones; ``relevant`` [n, m] are 0 or 1 for m = ``sample``."""
    chosen = factors[sample]
    gradient = (relevant - scipy.special.expit(factors @ chosen.T / 2)) @ chosen - factors / beta
    hessian = chosen.T @ chosen / 8 + np.eye(len(chosen.T)) / beta
    new: Floats = factors + np.linalg.solve(hessian, gradient.T).T
    new[sample] = chosen
    return new


METHOD = shallow_method(Settings, _fit, Linear, supervision="relevance")
