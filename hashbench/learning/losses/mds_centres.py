"""Likelihood of classes by cosines to centres that are far apart: the objective of MDSHC on centres, without memory."""

from torch import Tensor

from hashbench.learning.losses._batch import mean_where
from hashbench.learning.losses._classes import centre_products

_NEARLY_ONE = 1 - 1e-15  # the largest p whose log(1 - p) is taken


def loss(relaxed: Tensor, members: Tensor, centres: Tensor, *, quantisation: float) -> Tensor:
    """-(y_k log p_k + (1 - y_k) log(1 - p_k)), the mean over examples and classes, plus a quantisation term.

    p is the softmax over the classes of sqrt(bits) cos(h, c_k) [wang2023deep]; y_k is 1 for every label of an example,
    so with several labels no p reaches all of them. The second term is ``quantisation`` times the mean of (|h| - 1)^2.
    log(1 - p) is that of p = 1 - 1e-15 where p is larger, with zero gradient. ``relaxed`` is h float[M, bits],
    ``members`` y [M, C], ``centres`` c [C, bits] of -1 and +1. An example without a label does not count. A float64
    scalar. The paper's term of pairs with outputs of a momentum copy of the network is left out.
    """
    wide = relaxed.double()
    log_p = centre_products(wide, centres).log_softmax(1)
    log_other = (-log_p.exp().clamp(max=_NEARLY_ONE)).log1p()
    cost = -(members * log_p + (1 - members) * log_other).mean(1)
    return mean_where(cost + quantisation * (wide.abs() - 1).square().mean(1), members.any(1))
