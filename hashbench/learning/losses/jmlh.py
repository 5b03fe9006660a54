"""Cross-entropy of a linear classifier on random codes, with their divergence from fair coins: JMLH's objective."""

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from hashbench.learning.losses._classes import ClassSupervision, HeadObjective
from hashbench.learning.losses._codes import Noise, bernoulli, noise_of


class Objective(HeadObjective):
    """The cross-entropy of W z + a plus ``weight`` times the mean over examples of sum_t KL(p_t || 1/2).

    p = sigmoid(u), z_t = 1 where p_t > e_t, else 0; e is uniform in [0, 1), drawn for each example and bit, or
    (``half``) 1/2. The gradient is dL/du = p (1 - p) (dL/dz + dL/dp) [shen2019embarrassingly]. The divergence is
    smallest at p = 1/2: it works against quantisation.
    """

    def __init__(self, classes: ClassSupervision, bits: int, *, weight: float, noise: Noise = "uniform") -> None:
        super().__init__(classes, bits)
        self.weight = weight
        self.noise = noise

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The scalar to minimise, of activations [M, bits] before the sign; float64."""
        wide = activations.double()
        p = wide.sigmoid()
        divergence = (p * logsigmoid(wide) + (1 - p) * logsigmoid(-wide)).sum(1).mean() + wide.shape[1] * math.log(2)
        return self.cross_entropy(bernoulli(p, noise_of(p, self.noise, generator)), rows) + self.weight * divergence
