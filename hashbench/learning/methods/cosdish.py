"""COSDISH: codes of all examples whose products fit sampled columns of their relevance (Kang, Li, Zhou 2016).

S_ij is 1 for a relevant pair and -r for another, so that the sampled columns sum to 0. It lowers ||bits S - B B_s^T||^2
over the codes B_s [bits, bits] of the sample, bit by bit, by a binary quadratic program; then the codes of all others
are sign(S B_s). A ridge regression of the standardised features gives the bits.
"""

import numpy as np
from pydantic import Field

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._pairs import RelevantColumns
from hashbench.learning.methods._shallow import (
    Linear,
    ShallowSettings,
    require_bits,
    ridge_solution,
    shallow_method,
    signs,
    standardisation,
)

DEAD = 1e-5  # a sum that is nearer to 0 leaves a bit as it is


class Settings(ShallowSettings):
    """``samples`` times as many random columns as bits; ``alternations`` of sample and others for each."""

    samples: int = Field(ge=1)
    alternations: int = Field(ge=1)
    ridge: float = Field(gt=0)


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    n = len(features)
    bits = settings.bits
    require_bits(bits, n - 1, "sampled columns, one fewer than training examples")
    columns = RelevantColumns(data)
    random = np.random.default_rng(data.seed)
    codes = random.choice([-1.0, 1.0], (n, bits))
    for _ in range(settings.samples):
        sample = random.choice(n, bits, replace=False)
        similar = balanced(columns.of(sample))
        others = np.delete(np.arange(n), sample)
        for _ in range(settings.alternations):
            codes[sample] = sampled_codes(similar[sample], similar[others], codes[others])
            total = similar[others] @ codes[sample]
            codes[others] = np.where(np.abs(total) < DEAD, codes[others], signs(total))
    mean, scale = standardisation(features)
    projection = ridge_solution((features - mean) / scale, settings.ridge)(codes)
    return Linear(mean, projection / scale[:, None])


def balanced(relevant: Floats) -> Floats:
    """S [n, m]: 1 where ``relevant`` is 1, and elsewhere the same number below 0, so that S sums to 0."""
    n_relevant = relevant.sum()
    return np.where(relevant > 0, 1.0, -n_relevant / max(relevant.size - n_relevant, 1))


def sampled_codes(within: Floats, cross: Floats, others: Floats) -> Floats:
    """B_s [m, bits] of the sample; S is ``within`` it [m, m], ``cross`` [n, m] to the ``others``, of codes [n, bits].

    Bit b of the sample has a small b^T Q b + p^T b, what the bits before it leave: Q = -2 (bits S - sum b_l b_l^T),
    p = -2 (bits S - sum c_l b_l^T)^T c, where c are the other examples' bits.
    """
    bits = others.shape[1]
    quadratic = -2 * bits * within
    residual = bits * cross
    codes = np.empty((len(within), bits))
    for k in range(bits):
        codes[:, k] = half_ones(quadratic, -2 * residual.T @ others[:, k])
        quadratic = quadratic + 2 * np.outer(codes[:, k], codes[:, k])
        residual = residual - np.outer(others[:, k], codes[:, k])
    return codes


def half_ones(quadratic: Floats, linear: Floats) -> Floats:
    """Codes b [m], m // 2 of them +1, the others -1, with a small b^T Q b + p^T b; the diagonal of Q does not count.

    With b = 2 u - 1 and one more u = 1 it is u^T A u for A [m + 1, m + 1]: for a fixed number of ones it is the scatter
    of the chosen columns of a root of lambda I - A. Each column in turn is a centre, and its nearest ones are chosen:
    the best of all has at most twice the least scatter [kang2016column].
    """
    m = len(linear)
    off = quadratic - np.diag(quadratic.diagonal())
    half = linear - 2 * off.sum(axis=0)
    form = np.block([[4 * off, half[:, None]], [half[None], np.zeros((1, 1))]])
    order = form[:m].copy()  # the squared distance to column j is a constant plus twice this, and 0 to itself
    np.fill_diagonal(order, -np.inf)
    nearest = order.argsort(axis=0, kind="stable")[: m // 2]  # [m // 2, m + 1]
    chosen = np.zeros((m + 1, m + 1))
    np.put_along_axis(chosen, nearest, 1.0, axis=0)
    chosen[m] = 1.0
    best = np.einsum("ij,ij->j", chosen, form @ chosen).argmin()
    return 2 * chosen[:m, best] - 1


METHOD = shallow_method(Settings, _fit, Linear, supervision="relevance")
