"""Codes in training, as they are made from activations: the sign, with a gradient that passes through it."""

import torch
from torch import Tensor


def signs(activations: Tensor) -> Tensor:
    """The codes of ``activations`` as +1 (above 0) and -1 (else, as the sign of a code is), without gradient."""
    return torch.where(activations.detach() > 0, 1.0, -1.0).to(activations.dtype)


def straight_through(activations: Tensor, clip: float | None = None) -> Tensor:
    """``signs`` of the activations u, whose gradient is that of u itself, or, with ``clip``, 1[|u| <= clip] times it.

    >>> straight_through(torch.tensor([-0.5, 0.0, 3.0])).tolist()
    [-1.0, -1.0, 1.0]
    """
    passing = activations if clip is None else activations.where(activations.abs() <= clip, activations.detach())
    return signs(activations) + (passing - passing.detach())
