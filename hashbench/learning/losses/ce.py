"""Cross-entropy of a linear classifier on the activations of the hash layer: a baseline, which does not quantise."""

import torch
from torch import Tensor

from hashbench.learning.losses._classes import HeadObjective


class Objective(HeadObjective):
    """The mean over the batch of -sum_k (y_k / |y|) log p_k, p = softmax(W u + a), u the activations [M, bits].

    Nothing pulls u towards -1 and +1. For an example of several labels the target is shared equally among them.
    """

    takes_several = True

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, float64."""
        return self.cross_entropy(activations, rows)
