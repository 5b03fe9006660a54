"""Triplet likelihood with quantisation: DTSH's objective."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from hashbench.losses._batch import check, inner_products, others, quantisation, relevance

_BLOCK = 1 << 18  # triplets at a time: 2 MiB, about a core's cache


def loss(activations: Tensor, affinity: Tensor, *, margin: float, eta: float) -> Tensor:
    """The mean of log(1 + e^-(theta_qp - theta_qn - margin)) over triplets, plus eta times the quantisation.

    theta_ij = <u_i, u_j> / 2; the triplets are all (q, p, n) of the batch with p another example of a level above
    0 and n another one of level 0. The quantisation is the mean over examples of ||sign(u) - u||^2, summed over
    bits. A float64 scalar to minimise; a batch without a triplet leaves the quantisation alone.

    Every triplet is visited, but only a block of them is in memory: the gradient with respect to theta is summed
    in the forward pass, so the loss can be differentiated once.

    Args:
        activations: float[M, bits], real outputs of the network before the sign.
        affinity: whole levels [M, M]; the diagonal never counts.
        margin: by how much theta_qp should exceed theta_qn; the authors take bits / 2.
        eta: weight of the quantisation.
    """
    check(activations, affinity)
    theta = inner_products(activations) / 2
    relevant = relevance(affinity)
    irrelevant = others(affinity) & ~relevant
    likelihood: Tensor = _Triplets.apply(theta, relevant, irrelevant, margin)
    n_triplets = (relevant.sum(1) * irrelevant.sum(1)).sum()
    return likelihood / n_triplets.clamp(min=1) + eta * quantisation(activations)


class _Triplets(torch.autograd.Function):
    """theta [M, M] -> the sum of softplus(margin + theta_qn - theta_qp) over all triplets."""

    @staticmethod
    def forward(ctx: Any, theta: Tensor, relevant: Tensor, irrelevant: Tensor, margin: float) -> Tensor:
        # Rows have different numbers of positives; an infinite filling costs nothing: softplus(-inf) = 0.
        positive, positive_at = _members(theta, relevant, torch.inf)
        negative, negative_at = _members(theta, irrelevant, -torch.inf)
        pull, push = torch.zeros_like(positive), torch.zeros_like(negative)
        total = theta.new_zeros(())
        step = max(1, _BLOCK // max(1, positive.shape[1] * negative.shape[1]))
        for start in range(0, len(theta), step):
            rows = slice(start, start + step)
            excess = margin + negative[rows, None, :] - positive[rows, :, None]
            total += softplus(excess).sum()
            weight = excess.sigmoid_()
            pull[rows], push[rows] = weight.sum(2), weight.sum(1)
        gradient = torch.zeros_like(theta).scatter_(1, negative_at, push).scatter_add_(1, positive_at, -pull)
        ctx.save_for_backward(gradient)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (gradient,) = ctx.saved_tensors
        return gradient * gradients[0], None, None, None


def _members(theta: Tensor, member: Tensor, filling: float) -> tuple[Tensor, Tensor]:
    """Each row's entries where ``member``, first and padded with ``filling`` to the longest row, and their columns."""
    longest = int(member.sum(1).max()) if len(member) else 0
    columns = member.byte().argsort(dim=1, descending=True, stable=True)[:, :longest]
    return theta.gather(1, columns).masked_fill(~member.gather(1, columns), filling), columns
