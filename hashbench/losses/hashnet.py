"""Weighted pairwise likelihood: HashNet's objective."""

from torch import Tensor
from torch.nn.functional import softplus

from hashbench.losses._batch import check, inner_products, others, relevance


def loss(relaxed: Tensor, affinity: Tensor, *, scale: float, clip: float = 15.0) -> Tensor:
    """The weighted mean of log(1 + e^(a t)) - a s t over pairs, t = <h_i, h_j>; a float64 scalar to minimise.

    s_ij = 1 where the level is above 0; similar and dissimilar pairs are balanced by the paper's weights |S| / |S1|
    and |S| / |S0|, and the sum over the ordered pairs i != j is divided by the sum of their weights: half the mean
    over similar pairs plus half the mean over dissimilar ones, or the mean over whichever kind there is. The
    released code's further weights (class counts, graded similarity) are not applied. No pair: 0, zero gradients.

    Args:
        relaxed: float[M, bits], tanh(beta z) with beta growing in stages.
        affinity: whole levels [M, M]; the diagonal never counts.
        scale: a; the authors take 10 / bits.
        clip: above it log(1 + e^x) is taken as x, as the authors do; the value changes by e^-clip at most.
    """
    check(relaxed, affinity)
    scaled = scale * inner_products(relaxed)
    off_diagonal, similar = others(affinity), relevance(affinity)
    n_pairs, n_similar = off_diagonal.sum().double(), similar.sum().double()
    weight_similar = n_pairs / n_similar.clamp(min=1)
    weight_dissimilar = n_pairs / (n_pairs - n_similar).clamp(min=1)
    weight = weight_similar.where(similar, weight_dissimilar) * off_diagonal
    cost = softplus(scaled, threshold=clip) - similar * scaled
    return (weight * cost).sum() / weight.sum().clamp(min=1)
