"""Weighted pairwise likelihood: HashNet's objective."""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from hashbench.losses._batch import check, inner_products, is_relevant, others


def loss(
    relaxed: Tensor,
    relevance: Tensor,
    *,
    scale: float,
    clip: float = 15.0,
    weight_similar: float = 0.0,
    streams: bool = False,
) -> Tensor:
    """The weighted mean of log(1 + e^(a t)) - a s t over pairs, t = <h_i, h_j>; a float64 scalar to minimise.

    s_ij = 1 where the level is above 0; similar and dissimilar pairs are balanced by the paper's weights |S| / |S1|
    and |S| / |S0|, and the sum over the ordered pairs i != j is divided by the sum of their weights: half the mean
    over similar pairs plus half the mean over dissimilar ones, or the mean over whichever kind there is. The
    released code has one fixed weight for similar pairs, ``weight_similar``, and pairs the examples of two streams.
    Its graded similarity, which multiplies the gradient once more, is not applied. No pair: 0, zero gradients.

    Args:
        relaxed: float[M, bits], tanh(beta z) with beta growing in stages.
        relevance: whole levels [M, M]; the diagonal never counts.
        scale: a; the authors take 10 / bits.
        clip: above it log(1 + e^x) is taken as x, as the authors do; the value changes by e^-clip at most.
        weight_similar: of a similar pair, where a dissimilar one has 1; 0 are the paper's weights.
        streams: only pairs of an example of the first half of the batch and one of the second half.
    """
    check(relaxed, relevance)
    scaled = scale * inner_products(relaxed)
    counted, similar = others(relevance), is_relevant(relevance)
    if streams:
        first = torch.arange(len(relaxed), device=relaxed.device) < len(relaxed) // 2
        counted = first[:, None] != first
    weight = _weights(counted, similar & counted, weight_similar)
    cost = softplus(scaled, threshold=clip) - similar * scaled
    return (weight * cost).sum() / weight.sum().clamp(min=1)


def _weights(counted: Tensor, similar: Tensor, weight_similar: float) -> Tensor:
    """The weight of each pair, float64[M, M]; 0 where it is not ``counted``."""
    if weight_similar > 0:
        return torch.where(similar, weight_similar, counted.double())
    n_pairs, n_similar = counted.sum().double(), similar.sum().double()
    of_similar = n_pairs / n_similar.clamp(min=1)
    of_dissimilar = n_pairs / (n_pairs - n_similar).clamp(min=1)
    return of_similar.where(similar, of_dissimilar) * counted
