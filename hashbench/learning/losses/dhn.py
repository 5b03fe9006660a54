"""Pairwise likelihood of cosines or inner products, with log cosh: the objective of DHN, Deep Hashing Network."""

import math
from typing import Literal

from torch import Tensor
from torch.nn.functional import softplus

from hashbench.learning.losses._batch import (
    PairWeights,
    inner_products,
    likelihood,
    mean_where,
    off_diagonal_mask,
    pair_weights,
    relevant_mask,
)
from hashbench.learning.losses.metric_learning import cosines


def loss(
    relaxed: Tensor,
    relevance: Tensor,
    *,
    similarity: Literal["cosine", "inner_product"],
    scale: float,
    weighting: PairWeights,
    eta: float,
    quantisation: Literal["log_cosh", "square"] = "log_cosh",
) -> Tensor:
    """The mean over pairs of w (log(1 + e^(a p)) - s a p), plus eta times the quantisation; a float64 scalar.

    p_ij is the cosine of h_i and h_j, or their inner product; a is ``scale``; s_ij = 1 where the level is above 0; w
    are the ``pair_weights`` of the kind ``weighting``. The mean divides by the number of the ordered pairs i != j, not
    by their weights, and is 0 without any. The quantisation is the mean over examples and bits of log cosh(|h| - 1), or
    of the "square" (|h| - 1)^2.

    The code that the authors of zhu2016deep released later has cosines, weights of similar pairs, the square, whose
    weight is 0, and pairs of an example with itself, whose cosine is constant; these do not count here.

    ``relaxed`` is float[M, bits]; with cosines its length has an effect on the quantisation only.
    """
    counted = off_diagonal_mask(relevance)
    similar = relevant_mask(relevance)
    if similarity == "cosine":
        product = cosines(relaxed)
    else:
        product = inner_products(relaxed)
    cost = pair_weights(counted, similar, weighting) * likelihood(scale * product, similar)
    off_sign = relaxed.double().abs() - 1
    if quantisation == "log_cosh":
        term = log_cosh(off_sign)
    else:
        term = off_sign.square()
    return mean_where(cost, counted) + eta * term.mean()


def log_cosh(x: Tensor) -> Tensor:
    """The logarithm of cosh x, elementwise, without overflow: |x| + log(1 + e^(-2 |x|)) - log 2."""
    size = x.abs()
    return size + softplus(-2 * size) - math.log(2)
