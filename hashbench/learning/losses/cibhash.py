"""Contrastive codes of two views of an item, whose distributions are drawn together: CIBHash's objective."""

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize

from hashbench.learning.losses._codes import signs
from hashbench.learning.losses._objective import RowObjective


class Objective(RowObjective):
    """NT-Xent of the codes of two views of a batch, plus ``beta`` times the divergence of their bits.

    With p = sigmoid(u) and codes b = sign(p - 1/2), whose gradient is that of p: the mean over the 2 M codes of
    -log softmax_j(cos(b_i, b_j) / temperature) at the other view of item i, j != i. The divergence is the mean over
    items of sum_t (KL(p_t || q_t) + KL(q_t || p_t)) / 2 of the views p and q, the second argument without gradient, as
    released [qiu2021unsupervised]. The paper draws the bits with probability p; the released code does not.
    """

    n_views = 2

    def __init__(self, *, temperature: float, beta: float) -> None:
        super().__init__()
        self.temperature = temperature
        self.beta = beta

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, of activations [2 M, bits] before the sign; float64."""
        wide = activations.double()
        p = wide.sigmoid()
        codes = signs(wide) + (p - p.detach())
        unit = normalize(codes)  # torch's cosine_similarity of all pairs takes 20 times as long as this product
        similarity = unit @ unit.T / self.temperature
        n = len(codes)
        itself = torch.eye(n, dtype=torch.bool, device=codes.device)
        logs = similarity.masked_fill(itself, -math.inf).log_softmax(1)
        other = torch.arange(n, device=codes.device).roll(n // 2)
        contrast = -logs[torch.arange(n, device=codes.device), other].mean()
        return contrast + self.beta * _divergence(wide, wide.detach().roll(n // 2, 0))


def _divergence(activations: Tensor, others: Tensor) -> Tensor:
    """The mean over rows of sum_t KL(sigmoid(u_t) || sigmoid(v_t)), of activations u and ``others`` v."""
    p = activations.sigmoid()
    ones = p * (logsigmoid(activations) - logsigmoid(others))
    zeros = (1 - p) * (logsigmoid(-activations) - logsigmoid(-others))
    return (ones + zeros).sum(1).mean()
