"""MACHash: hashing with affinities and auxiliary coordinates (Raziperchikolaei, Carreira-Perpiñán 2016), MACcut.

It minimises the KSH loss L(h) = sum_{i != j} (h(x_i) . h(x_j) - bits y_ij)^2, y = 1 for relevant pairs, else -1. Step Z
lowers L of free codes z plus mu sum_i ||z_i - h(x_i)||^2 for a growing mu, from 0, one bit after the other, by graph
cuts of blocks. Step h fits a linear support vector machine to each bit of Z. It ends where Z is h(X); the best h is
kept.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._block_cut import Ints, Signs, descend, eigenvector_signs, submodular_blocks
from hashbench.learning.methods._machines import machines
from hashbench.learning.methods._pairs import Bools, relevant_pairs
from hashbench.learning.methods._shallow import KernelLinear, Linear, ShallowSettings, inputs_of, shallow_method

Affinity = NDArray[np.float32]


class Settings(ShallowSettings):
    """``hash_functions`` are linear in the features or in the RBF responses to ``n_anchors`` examples."""

    hash_functions: Literal["linear", "kernel"]
    n_anchors: int = Field(ge=1)
    mu_first: float = Field(gt=0)  # times bits and examples: the first value of mu above 0
    mu_growth: float = Field(gt=1)
    iterations: int = Field(ge=0)  # the most values of mu above 0
    passes: int = Field(ge=1)  # of step Z over the bits
    block_size: int = Field(ge=1)
    sweeps: int = Field(ge=1)  # the most over the blocks for a bit
    linear_c: float = Field(gt=0)  # the weight of the squared hinge losses of step h
    kernel_c: float = Field(gt=0)


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    pairs = relevant_pairs(data)
    random = np.random.default_rng(data.seed)
    blocks = submodular_blocks(pairs, settings.block_size, random)
    step = CodeStep(affinities(pairs), blocks, settings.passes, settings.sweeps)
    inputs, function = inputs_of(settings.hash_functions, features, settings.n_anchors, random)
    c = settings.kernel_c
    if settings.hash_functions == "linear":
        c = settings.linear_c
    mean = inputs.mean(axis=0)
    scale = np.sqrt(np.square(inputs - mean).sum(axis=1).mean())
    scaled = np.column_stack([(inputs - mean) / scale, np.ones(len(features))])
    weights = best = np.zeros((scaled.shape[1], settings.bits))
    least = np.inf
    codes = step.first(settings.bits, random)
    hashed = codes
    for k in with_bar(range(settings.iterations + 1), "fit", "step", shown=data.execution.progress):
        if k > 0:
            mu = settings.mu_first * settings.mu_growth ** (k - 1) * codes.size
            codes = step.codes(codes, hashed, round(mu))
        weights = machines(scaled, codes, weights, c, 100, 1e-5)
        hashed = np.where(scaled @ weights > 0, 1, -1).astype(np.int8)
        loss = ksh_loss(hashed, step.affinity)
        if loss < least:
            least = loss
            best = weights
        if (hashed == codes).all():
            break
    projection = best[:-1] / scale
    return function(np.zeros(len(projection)), projection, best[-1] - mean @ projection)


class CodeStep(NamedTuple):
    """Step Z: codes int8[n, bits] with a lower loss and penalty."""

    affinity: Affinity
    blocks: Sequence[Ints]
    passes: int
    sweeps: int

    def first(self, bits: int, random: np.random.Generator) -> Signs:
        """Codes without a penalty: each bit in turn lowers the loss of the bits up to it; then step Z that of all."""
        n = len(self.affinity)
        codes = np.zeros((n, 0), np.int8)
        no_fields = np.zeros(n, np.int64)
        for r in range(1, bits + 1):
            couplings = KshCouplings(codes.astype(np.float64), self.affinity, r)
            start = eigenvector_signs(couplings, n, random)
            codes = np.column_stack([codes, descend(couplings, no_fields, start, self.blocks, self.sweeps)])
        return self.codes(codes, codes, 0)

    def codes(self, codes: Signs, hashed: Signs, mu: int) -> Signs:
        """``codes`` after the passes over their bits, which the penalty ``mu`` draws to ``hashed``."""
        now = codes.copy()
        bits = codes.shape[1]
        for _ in range(self.passes):
            for bit in range(bits):
                others = np.delete(now, bit, axis=1).astype(np.float64)
                fields = -2 * mu * hashed[:, bit].astype(np.int64)
                couplings = KshCouplings(others, self.affinity, bits)
                now[:, bit] = descend(couplings, fields, now[:, bit], self.blocks, self.sweeps)
        return now


class KshCouplings(NamedTuple):
    """The couplings of a bit, a_ij = 4 c_ij - 2 bits (y_ij + y_ji), never formed; c are products of the ``others``."""

    others: Floats
    affinity: Affinity
    bits: int

    def times(self, z: Floats) -> Floats:
        """The product a z [n] with signs z [n], exactly."""
        of_products = self.others @ (self.others.T @ z) - self.others.shape[1] * z
        return 4 * of_products - 2 * self.bits * (self.affinity @ z.astype(np.float32)).astype(np.float64)

    def within(self, block: Ints) -> Ints:
        """The couplings [m, m] of the examples of a ``block`` [m], which are all relevant to each other."""
        codes = self.others[block]
        couplings = 4 * (codes @ codes.T) - 4 * self.bits
        np.fill_diagonal(couplings, 0)
        return np.rint(couplings).astype(np.int64)

    def pull(self, block: Ints, values: Ints) -> Ints:
        """The sum [n] of the couplings of all examples to those of a ``block`` [m], times their ``values`` [m]."""
        of_products = self.others @ (values @ self.others[block])
        of_products[block] -= self.others.shape[1] * values
        of_pairs = (values.astype(np.float32) @ self.affinity[block]).astype(np.float64)
        return np.rint(4 * of_products - 2 * self.bits * of_pairs).astype(np.int64)


def affinities(pairs: Bools) -> Affinity:
    """y_ij + y_ji float32[n, n], with a zero diagonal; y is 1 for relevant ``pairs`` bool[n, n] and -1 for others."""
    y = np.where(pairs, np.float32(1), np.float32(-1))
    both = y + y.T
    np.fill_diagonal(both, 0)
    return both


def ksh_loss(codes: Signs, affinity: Affinity) -> int:
    """L of ``codes`` [n, bits]: the squares of z_i . z_j sum to ||Z^T Z||^2; mixed terms need one product."""
    n, bits = codes.shape
    z = codes.astype(np.float32)  # the sums below are whole numbers that it holds exactly
    squares = np.square((z.T @ z).astype(np.float64)).sum() - n * bits**2
    agreement = (z * (affinity @ z)).sum(dtype=np.float64)
    return int(np.rint(squares - bits * agreement + bits**2 * n * (n - 1)))


METHOD = shallow_method(Settings, _fit, Linear, KernelLinear, supervision="relevance")
