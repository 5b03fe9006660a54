"""KSH: supervised hashing with kernels (Liu, Wang, Ji, Jiang, Chang 2012), as in the released code.

S is +1 for a relevant pair and -1 for any other. Each bit y in {-1, +1}^n is fitted to what the bits before it leave
over of sum_k y_k y_k^T = bits S: y = sign(K a) maximises y^T R y, where R = bits S - sum y_k y_k^T and the rows of K
are the centred responses to the anchors.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._pairs import relevant_pairs
from hashbench.learning.methods._shallow import (
    KernelLinear,
    Linear,
    ShallowSettings,
    columns,
    inputs_of,
    shallow_method,
    signs,
)

MOST_RATE = 2.0**60  # of the reciprocal step; the search ends where the objective only falls with a smaller step


class Settings(ShallowSettings):
    """``hash_functions`` are linear in the features or in the RBF responses to ``n_anchors`` examples."""

    hash_functions: Literal["linear", "kernel"]
    n_anchors: int = Field(ge=1)
    iterations: int = Field(ge=0)  # the most for a bit
    tolerance: float = Field(ge=0)  # a bit ends when its objective changes by at most this per example


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    target = np.where(relevant_pairs(data), 1.0, -1.0)
    random = np.random.default_rng(data.seed)
    inputs, function = inputs_of(settings.hash_functions, features, settings.n_anchors, random)
    mean = inputs.mean(axis=0)
    vectors = fit_bits(settings, inputs - mean, first_residual(target, settings.bits))
    return function(mean, columns("KSH", vectors, settings.bits, shown=data.execution.progress))


class Residual(NamedTuple):
    """R = bits S - sum_k y_k y_k^T [n, n], as parts: S_ij = ``distinct`` [group of i, group of j]."""

    distinct: Floats
    group: NDArray[np.int64]
    codes: Floats  # float64[bits, n], a row y_k for each bit so far

    def __matmul__(self, values: Floats) -> Floats:
        of_groups = np.bincount(self.group, values, len(self.distinct))
        return (self.distinct @ of_groups)[self.group] - (self.codes @ values) @ self.codes


def first_residual(target: Floats, bits: int) -> Residual:
    """R = bits S for S = ``target`` [n, n] of -1 and +1, which is symmetric."""
    # as rows of bytes, which have the order of the rows and are compared a hundred times faster
    packed = np.packbits(target > 0, axis=1)
    rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    return Residual(bits * target[np.ix_(first, first)], group, np.empty((0, len(target))))


def fit_bits(settings: Settings, responses: Floats, residual: Residual) -> Iterator[Floats]:
    """The vector a [m] of each bit in turn, for K = ``responses`` [n, m]."""
    # W [m, rank] with W^T K^T K W = I; directions in which K does not vary are left out
    variances, axes = np.linalg.eigh(responses.T @ responses)
    kept = variances > variances[-1] * len(variances) * np.finfo(np.float64).eps
    whitening = axes[:, kept] / np.sqrt(variances[kept])
    whitened = responses @ whitening
    form = np.stack([residual @ column for column in whitened.T]) @ whitened  # W^T K^T R K W
    last = len(form) - 1

    def quadratic_form(vector: Floats, residual: Residual) -> float:
        """The y^T R y of the code of ``vector``."""
        code = signs(responses @ vector)
        return float(code @ (residual @ code))

    for _ in range(settings.bits):
        _, vectors = scipy.linalg.eigh(form, subset_by_index=[last, last])
        start = whitening @ vectors[:, 0]
        start = start / np.sqrt(np.square(responses @ start).mean())  # K a has the mean square 1
        optimised = _maximise(settings, responses, residual, start)
        vector = start
        if quadratic_form(optimised, residual) > quadratic_form(start, residual):
            vector = optimised
        code = signs(responses @ vector)
        residual = residual._replace(codes=np.vstack([residual.codes, code]))
        form -= np.outer(whitened.T @ code, whitened.T @ code)
        yield vector


def _maximise(settings: Settings, responses: Floats, residual: Residual, start: Floats) -> Floats:
    """The a at a maximum of s^T R s, s = tanh(K a / 2), by Nesterov's method with backtracking from ``start``."""
    m = len(start)  # a point is [a, K a]: both parts are linear, so a step costs one product

    def with_product(vector: Floats) -> Floats:
        return np.concatenate([vector, responses @ vector])

    def cost_at(point: Floats) -> float:
        soft = np.tanh(point[m:] / 2)
        return -float(soft @ (residual @ soft))

    before = now = with_product(start)
    cost = cost_at(now)
    rate = 1.0
    momentum = 0.0
    next_momentum = 1.0
    for _ in range(settings.iterations):
        probe = now + (momentum - 1) / next_momentum * (now - before)
        soft = np.tanh(probe[m:] / 2)
        product = residual @ soft
        at_probe = -float(soft @ product)
        gradient = -(product * (1 - np.square(soft))) @ responses
        direction = with_product(gradient)
        steepness = float(gradient @ gradient)
        last = cost
        while (cost := cost_at(probe - direction / rate)) > at_probe - steepness / (2 * rate):
            if rate >= MOST_RATE:
                return now[:m]
            rate *= 2
        before = now
        now = probe - direction / rate
        momentum = next_momentum
        next_momentum = (1 + np.sqrt(1 + 4 * next_momentum**2)) / 2
        if abs(cost - last) <= settings.tolerance * len(responses):
            break
    return now[:m]


METHOD = shallow_method(Settings, _fit, Linear, KernelLinear, identity=("hash_functions",), supervision="relevance")
