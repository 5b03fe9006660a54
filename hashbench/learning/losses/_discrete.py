"""Codes of a batch or of all training examples that minimise a quadratic form, found bit by bit."""

import torch
from torch import Tensor

from hashbench.learning.losses._codes import signs


def coordinate_descent(codes: Tensor, gram: Tensor, target: Tensor) -> Tensor:
    """The codes after one sweep over the bits: b_k = sign(q_k - sum over l != k of g_lk b_l), each bit with the others.

    That minimises b^T G b - 2 q^T b for each example, one bit at a time, and so ||Y - W^T b||^2 + eta / mu ||b - u||^2
    with G = W W^T and q = W y + (eta / mu) u. ``codes`` [M, bits] are -1 and +1, or 0 at first; ``gram`` is G [bits,
    bits], ``target`` q [M, bits]. A sign is -1 at 0, as in the codes.
    """
    new = codes.clone()
    coupling = gram - torch.diag(gram.diagonal())
    for bit in range(new.shape[1]):
        new[:, bit] = signs(target[:, bit] - new @ coupling[:, bit])
    return new
