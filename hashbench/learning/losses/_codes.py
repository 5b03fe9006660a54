"""Codes in training, as they are made from activations: the sign, with a gradient that passes through it."""

from typing import Any, Literal

import torch
from torch import Tensor

Noise = Literal["uniform", "half"]


def signs(activations: Tensor) -> Tensor:
    """The codes of ``activations`` as +1 (above 0) and -1 (else, as the sign of a code is), without gradient."""
    return torch.where(activations.detach() > 0, 1.0, -1.0).to(activations.dtype)


def straight_through(activations: Tensor, clip: float | None = None) -> Tensor:
    """``signs`` of the activations u, whose gradient is that of u itself, or, with ``clip``, 1[|u| <= clip] times it.

    >>> straight_through(torch.tensor([-0.5, 0.0, 3.0])).tolist()
    [-1.0, -1.0, 1.0]
    """
    passing = activations
    if clip is not None:
        passing = activations.where(activations.abs() <= clip, activations.detach())
    return signs(activations) + (passing - passing.detach())


def bi_half(activations: Tensor, gamma: float) -> Tensor:
    """Codes of which each bit is +1 for the floor(M / 2) largest activations of the batch, else -1 [li2021deep].

    ``activations`` are u float[M, bits]; of equal ones the earlier example is the larger. With g the gradient of the
    codes b, that of u is g + gamma (u - b) / (M bits): the second term does not depend on the loss.

    >>> bi_half(torch.tensor([[0.3], [2.0], [0.1], [-1.0]]), 6.0).flatten().tolist()
    [1.0, 1.0, -1.0, -1.0]
    """
    codes: Tensor = _BiHalf.apply(activations, gamma)
    return codes


class _BiHalf(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, activations: Tensor, gamma: float) -> Tensor:
        order = activations.argsort(dim=0, descending=True, stable=True)
        codes = torch.full_like(activations, -1.0).scatter_(0, order[: len(activations) // 2], 1.0)
        ctx.save_for_backward((activations - codes) * (gamma / activations.numel()))
        return codes

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        (pull,) = ctx.saved_tensors
        return gradients[0] + pull, None


def bernoulli(probabilities: Tensor, noise: Tensor) -> Tensor:
    """Codes of 0 and 1: 1 where a probability p is above the noise; their gradient is that of p itself.

    With p = sigmoid(u), noise uniform in [0, 1) and g the gradient of the codes, that of u is p (1 - p) g: the
    distributional derivative of shen2019embarrassingly.
    """
    codes = (probabilities.detach() > noise).to(probabilities.dtype)
    return codes + (probabilities - probabilities.detach())


def noise_of(probabilities: Tensor, kind: Noise, generator: torch.Generator) -> Tensor:
    """The noise of ``bernoulli`` in float64: 1/2 everywhere, or uniform in [0, 1), drawn for each example and bit."""
    drawn = torch.rand(probabilities.shape, generator=generator, dtype=torch.float64)
    if kind != "uniform":
        drawn = torch.full_like(drawn, 0.5)
    return drawn.to(probabilities.device)
