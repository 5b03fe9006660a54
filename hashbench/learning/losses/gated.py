"""The hash stage of jeong2018efficient: objectives of gated distances and similarities.

A code h sets k of d bits; ``buckets`` int64[M, k] are these bits, from 0 to d - 1, all different in a row. A gated
comparison of items i and j is a sum over the bits t where h_i or h_j is 1: at most 2 k of d terms are not zero. So no
array [M, M, d] is computed. The buckets of a batch are constants: they have no gradient.
"""

import torch
from torch import Tensor
from torch.nn.functional import embedding

from hashbench.learning.losses.metric_learning import multi_class, semi_hard, unit_norm


def triplet(embeddings: Tensor, labels: Tensor, buckets: Tensor, *, margin: float) -> Tensor:
    """The semi-hard objective on the gated distances of unit vectors, a float64 scalar to minimise [eq. 9].

    d_ij = ||(h_i or h_j) * (f_i / |f_i| - f_j / |f_j|)||_1; the norm |f| is over all bits, set or not. The negatives
    are chosen by these distances. Other arguments as ``metric_learning.triplet``.
    """
    return semi_hard(distance_within(unit_norm(embeddings), buckets), labels, margin=margin)


def npairs(embeddings: Tensor, buckets: Tensor, *, l2: float) -> Tensor:
    """The N-pair objective with -d_ij, the gated distances, as similarities; a float64 scalar to minimise [eq. 10].

    d_ij = ||(h_i or h_j) * (a_i - p_j)||_1. The regulariser is that of ``metric_learning.multi_class``, applied to the
    whole embeddings: it is the only term that acts on the bits that no code sets. ``embeddings`` float[2 n, d] are in
    two rounds, as for ``metric_learning.npairs``.
    """
    anchors, positives = embeddings.double().chunk(2)
    of_anchors, of_positives = buckets.chunk(2)
    return multi_class(-distance(anchors, of_anchors, positives, of_positives), embeddings, l2=l2)


def npairs_as_released(embeddings: Tensor, buckets: Tensor, *, l2: float) -> Tensor:
    """As ``npairs``, with the inner products of the gated embeddings as similarities: the released code's default.

    s_ij is the sum of a_i,t p_j,t over the bits t that either sets: ``h1`` there, where ``npairs`` is ``h2``.
    """
    anchors, positives = embeddings.double().chunk(2)
    of_anchors, of_positives = buckets.chunk(2)
    return multi_class(similarity(anchors, of_anchors, positives, of_positives), embeddings, l2=l2)


def distance(left: Tensor, left_buckets: Tensor, right: Tensor, right_buckets: Tensor) -> Tensor:
    """The gated distances ||(h_i or h_j) * (f_i - f_j)||_1 of all pairs, [L, R] [jeong2018efficient, eq. 8].

    ``left`` is float[L, d] with ``left_buckets`` int64[L, k]; ``right`` is float[R, d] with ``right_buckets``
    int64[R, k]. |f_i - f_j| is summed at the buckets of i, and at the buckets of j that are not buckets of i: O(L R k)
    time and memory, for any d. The gradient is 0 in a bit in which two embeddings are equal.
    """
    forth = _residual(left, left_buckets, right)
    return _at_either(forth, _residual(right, right_buckets, left), left_buckets, right_buckets, left.shape[1])


def distance_within(embeddings: Tensor, buckets: Tensor) -> Tensor:
    """The gated distances of all pairs in one batch, [M, M]: ``distance`` of the batch to itself at half the cost."""
    residual = _residual(embeddings, buckets, embeddings)
    return _at_either(residual, residual, buckets, buckets, embeddings.shape[1])


def similarity(left: Tensor, left_buckets: Tensor, right: Tensor, right_buckets: Tensor) -> Tensor:
    """The gated inner products, sum over t of (h_i or h_j)_t f_i,t f_j,t, of all pairs, [L, R].

    As (h_i or h_j) = h_j + h_i (1 - h_j), it is f_i . g_j + g_i . (f_j - g_j) with g = h * f: two matrix products.
    """
    left_set = left * _bits(left_buckets, left.shape[1])
    right_set = right * _bits(right_buckets, right.shape[1])
    return left @ right_set.T + left_set @ (right - right_set).T


def _residual(left: Tensor, buckets: Tensor, right: Tensor) -> Tensor:
    """|f_i - f_j| at each bucket of i, for all j: [M, k, N]; ``left`` [M, d] are the f_i, ``right`` [N, d] the f_j."""
    # gathered with ``embedding``, because the sums of its gradient are deterministic, also on a GPU
    return (left.gather(1, buckets)[:, :, None] - embedding(buckets, right.T.contiguous())).abs()


def _at_either(forth: Tensor, back: Tensor, left_buckets: Tensor, right_buckets: Tensor, d: int) -> Tensor:
    common = _bits(left_buckets, d).T[right_buckets]
    return forth.sum(1) + back.masked_fill(common, 0).sum(1).T


def _bits(buckets: Tensor, d: int) -> Tensor:
    return torch.zeros(len(buckets), d, dtype=torch.bool, device=buckets.device).scatter_(1, buckets, True)
