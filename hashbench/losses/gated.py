"""Gated distances and similarities: sums over the bits that at least one of two codes sets.

A code h sets k of d bits; ``buckets`` int64[M, k] are these bits, from 0 to d - 1, all different in a row. A gated
comparison of items i and j is a sum over the bits t where h_i or h_j is 1: at most 2 k of d terms are not zero. So no
array [M, M, d] is computed.
"""

import torch
from torch import Tensor
from torch.nn.functional import embedding

from hashbench.foundation.errors import HashbenchError


def distance(left: Tensor, left_buckets: Tensor, right: Tensor, right_buckets: Tensor) -> Tensor:
    """The gated distances ||(h_i or h_j) * (f_i - f_j)||_1 of all pairs, [L, R] [jeong2018efficient, eq. 8].

    ``left`` is float[L, d] with ``left_buckets`` int64[L, k]; ``right`` is float[R, d] with ``right_buckets``
    int64[R, k]. |f_i - f_j| is summed at the buckets of i, and at the buckets of j that are not buckets of i: O(L R k)
    time and memory, for any d. The gradient is 0 in a bit in which two embeddings are equal.

    >>> f, buckets = torch.tensor([[5.0, 1.0, 9.0], [4.0, 3.0, 0.0]]), torch.tensor([[0], [1]])
    >>> distance(f, buckets, f, buckets)  # |5 - 4| + |1 - 3|, and never |9 - 0|
    tensor([[0., 3.],
            [3., 0.]])
    """
    _check(left, left_buckets)
    _check(right, right_buckets)
    forth = _residual(left, left_buckets, right)
    return _at_either(forth, _residual(right, right_buckets, left), left_buckets, right_buckets, left.shape[1])


def distance_within(embeddings: Tensor, buckets: Tensor) -> Tensor:
    """The gated distances of all pairs in one batch, [M, M]: ``distance`` of the batch to itself at half the cost."""
    _check(embeddings, buckets)
    residual = _residual(embeddings, buckets, embeddings)
    return _at_either(residual, residual, buckets, buckets, embeddings.shape[1])


def similarity(left: Tensor, left_buckets: Tensor, right: Tensor, right_buckets: Tensor) -> Tensor:
    """The gated inner products, sum over t of (h_i or h_j)_t f_i,t f_j,t, of all pairs, [L, R].

    Since (h_i or h_j) = h_j + h_i (1 - h_j), it is f_i . g_j + g_i . (f_j - g_j) with g = h * f: two matrix products,
    and no array is larger than the inputs and the result.

    >>> f, buckets = torch.tensor([[5.0, 1.0, 9.0], [4.0, 3.0, 1.0]]), torch.tensor([[0], [1]])
    >>> similarity(f, buckets, f, buckets)
    tensor([[25., 23.],
            [23.,  9.]])
    """
    _check(left, left_buckets)
    _check(right, right_buckets)
    left_set, right_set = left * _bits(left_buckets, left.shape[1]), right * _bits(right_buckets, right.shape[1])
    return left @ right_set.T + left_set @ (right - right_set).T


def _residual(of: Tensor, buckets: Tensor, to: Tensor) -> Tensor:
    """|f_i - f_j| at each bucket of i, for all j: [M, k, N]; ``of`` [M, d] are the f_i, ``to`` [N, d] the f_j.

    The rows are gathered with ``embedding``, because the sums of its gradient are deterministic, also on a GPU.
    """
    return (of.gather(1, buckets)[:, :, None] - embedding(buckets, to.T.contiguous())).abs()


def _at_either(forth: Tensor, back: Tensor, left_buckets: Tensor, right_buckets: Tensor, d: int) -> Tensor:
    """The sum of ``forth`` [L, k, R] at the buckets of i and ``back`` [R, k, L] at those of j; common buckets once."""
    common = _bits(left_buckets, d).T[right_buckets]
    return forth.sum(1) + back.masked_fill(common, 0).sum(1).T


def _bits(buckets: Tensor, d: int) -> Tensor:
    """The codes as bool[M, d]."""
    return torch.zeros(len(buckets), d, dtype=torch.bool, device=buckets.device).scatter_(1, buckets, True)


def _check(embeddings: Tensor, buckets: Tensor) -> None:
    """Raises HashbenchError unless ``embeddings`` is float[M, d] and ``buckets`` int64[M, k] with k from 1 to d."""
    if embeddings.ndim != 2 or not embeddings.is_floating_point():
        raise HashbenchError(f"batch: embeddings are {embeddings.dtype}{list(embeddings.shape)}; floats [M, d] needed")
    n, d = embeddings.shape
    if buckets.dtype != torch.int64 or buckets.ndim != 2 or len(buckets) != n or not 1 <= buckets.shape[1] <= d:
        raise HashbenchError(
            f"batch: buckets are {buckets.dtype}{list(buckets.shape)}; int64 [{n}, k], k from 1 to {d}, are needed"
        )
