"""SGH: scalable graph hashing with feature transformation (Jiang, Li 2015).

The codes b(x) = sgn(w^T k(x)) of Gaussian responses k(x) to random anchors, minus their mean, shall give
bits S_ij = <b_i, b_j>. The graph S is near 2 exp(-||x_i - x_j||^2 / 2) - 1 if features have norms of about 1; it is a
product of two matrices with d + 2 columns, so it is never computed. Bits are found in turn, each from the residual.
"""

from collections.abc import Iterable
from itertools import chain

import numpy as np
import scipy
from pydantic import Field

from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._shallow import KernelLinear, Linear, ShallowSettings, inputs_of, shallow_method, signs

RIDGE = 1e-6  # added to K^T K, as in the authors' code


class Settings(ShallowSettings):
    """Each bit is found again, in random order, ``refinements`` times."""

    n_anchors: int = Field(ge=1)
    refinements: int = Field(ge=0)


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    random = np.random.default_rng(data.seed)
    inputs, linear = inputs_of("kernel", features, settings.n_anchors, random)
    mean = inputs.mean(axis=0)
    root = np.linalg.cholesky((inputs - mean).T @ (inputs - mean) + RIDGE * np.eye(inputs.shape[1]))
    scaled = np.linalg.solve(root, (inputs - mean).T).T  # w^T (K^T K) w = 1 is |root^T w| = 1
    orders = [range(settings.bits), *(random.permutation(settings.bits) for _ in range(settings.refinements))]
    turns = with_bar(list(chain.from_iterable(orders)), "sgh", "bit", shown=data.execution.progress)
    directions = sequential(scaled, settings.bits * seen(scaled, features), settings.bits, turns)
    return linear(mean, np.linalg.solve(root.T, directions))


def seen(inputs: Floats, features: Floats) -> Floats:
    """inputs^T S inputs [m, m], S = 2 exp(-(|x|^2 + |y|^2) / 2) f(<x, y>) - 1, and ``inputs`` [n, m] with mean 0.

    f(t) = (e - 1/e) / 2 t + (e + 1/e) / 2 is exp(t) at t = -1 and 1 (Eq. 3). The constant -1 gives 0.
    """
    damped = np.exp(-np.square(features).sum(axis=1) / 2)
    part = inputs.T @ (features * damped[:, None])
    constant = inputs.T @ damped
    return 2 * np.sinh(1) * part @ part.T + 2 * np.cosh(1) * np.outer(constant, constant)


def sequential(inputs: Floats, residual: Floats, bits: int, turns: Iterable[int]) -> Floats:
    """W [m, bits]: each bit of ``turns`` takes the top eigenvector of the residual without its own part."""
    w = np.zeros((inputs.shape[1], bits))
    seen_by = np.zeros((inputs.shape[1], bits))
    last = inputs.shape[1] - 1
    for bit in turns:
        residual = residual + np.outer(seen_by[:, bit], seen_by[:, bit])
        w[:, bit] = scipy.linalg.eigh(residual, subset_by_index=[last, last])[1][:, 0]
        seen_by[:, bit] = inputs.T @ signs(inputs @ w[:, bit])
        residual = residual - np.outer(seen_by[:, bit], seen_by[:, bit])
    return w


METHOD = shallow_method(Settings, _fit, KernelLinear)
