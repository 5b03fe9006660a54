"""Weighted pairwise likelihood: HashNet's objective."""

import torch
from torch import Tensor

from hashbench.learning.losses._batch import (
    inner_products,
    label_cosines,
    likelihood,
    off_diagonal_mask,
    pair_weights,
    relevant_mask,
)


def loss(
    relaxed: Tensor,
    relevance: Tensor,
    *,
    scale: float,
    clip: float = 15.0,
    weight_similar: float = 0.0,
    streams: bool = False,
    continuous_similarity: bool = False,
    partly_scaled: bool = False,
) -> Tensor:
    """The weighted mean of log(1 + e^(a t)) - a s t over pairs, t = <h_i, h_j>; a float64 scalar to minimise.

    s_ij = 1 where the level is above 0. Similar and dissimilar pairs have the paper's weights |S| / |S1| and
    |S| / |S0|, and the sum over the ordered pairs i != j is divided by the sum of their weights. So the loss is half
    the mean over similar pairs plus half the mean over dissimilar pairs; if there is only one kind, it is the mean over
    that kind. Without pairs the loss is 0 with zero gradients.

    The released code differs: it has one fixed weight for similar pairs, ``weight_similar``, and compares the examples
    of two streams; and its gradient is not that of its loss, see ``continuous_similarity`` and ``partly_scaled``. With
    all four it is half the released gradient, whose factor 2 belongs into the learning rate.

    Args:
        relaxed: float[M, bits], tanh(beta z) with beta growing in stages.
        relevance: levels [M, M]; the diagonal never counts.
        scale: a; the authors take 10 / bits.
        clip: for x > clip, log(1 + e^x) is replaced by x, as the authors do; the error is at most e^-clip.
        weight_similar: the weight of a similar pair; a dissimilar pair has weight 1. 0: the paper's weights.
        streams: whether only pairs of an example of the first half of the batch and one of the second half count.
        continuous_similarity: whether the gradient of a similar pair has a further factor 4 c_ij with c_ij =
            (y_i . y_j)^2 / (|y_i| |y_j|) for labels y. The value and the sum of the weights do not have it.
        partly_scaled: whether the gradient has its factor a only in the first M / 2 numbers (row by row) of each
            stream, for the released code multiplies as many numbers as there are rows. For ``streams`` only.
    """
    if partly_scaled:
        # the gradient is divided by ``scale`` behind the first numbers of each stream
        wide = relaxed.double()
        factor = torch.full_like(wide, 1 / scale, memory_format=torch.contiguous_format)
        for stream in factor.tensor_split(2):
            stream.view(-1)[: len(stream)] = 1.0
        relaxed = factor * wide + ((1 - factor) * wide).detach()
    scaled = scale * inner_products(relaxed)
    counted = off_diagonal_mask(relevance)
    similar = relevant_mask(relevance)
    if streams:
        first = torch.arange(len(relaxed), device=relaxed.device) < len(relaxed) // 2
        counted = first[:, None] != first
    if weight_similar > 0:
        weight = torch.where(similar & counted, weight_similar, counted.double())
    else:
        weight = pair_weights(counted, similar & counted, "both")
    cost = likelihood(scaled, similar, clip)
    total = weight.sum().clamp(min=1)
    value = (weight * cost).sum() / total
    if not continuous_similarity:
        return value
    further = torch.where(similar, 4 * label_cosines(relevance).square(), 1.0)
    steeper = (further * weight * likelihood(scaled, similar)).sum() / total
    return steeper + (value - steeper).detach()  # the value of one, the gradient of the other
