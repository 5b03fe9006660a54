"""Comparisons of embeddings at the buckets of either code, without an array over pairs and dimensions.

A code sets k of d bits and is given by them: ``buckets`` int64[M, k], from 0 to d - 1, none twice in a row. The
comparison of items i and j is a sum over the bits t of h_i or h_j. Two codes have 2 k bits at most, so the sum over
the d that most of a broadcast [M, M, d] is computed for has few terms that are not zero.
"""

import torch
from torch import Tensor
from torch.nn.functional import embedding

from hashbench.errors import HashbenchError


def distance(left: Tensor, left_buckets: Tensor, right: Tensor, right_buckets: Tensor) -> Tensor:
    """The gated distances ||(h_i or h_j) * (f_i - f_j)||_1 of all pairs, [L, R] [jeong2018efficient, eq. 8].

    ``left`` is float[L, d] with ``left_buckets`` int64[L, k], ``right`` and ``right_buckets`` alike. |f_i - f_j| is
    summed at the buckets of i, and at those of j that are not i's: O(L R k) time and memory, whatever d. Where two
    embeddings agree in a bit its gradient is 0.

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
    """The gated distances of all pairs of one list, [M, M]: ``distance`` of it to itself for half the cost."""
    _check(embeddings, buckets)
    residual = _residual(embeddings, buckets, embeddings)
    return _at_either(residual, residual, buckets, buckets, embeddings.shape[1])


def similarity(left: Tensor, left_buckets: Tensor, right: Tensor, right_buckets: Tensor) -> Tensor:
    """The gated inner products, sum over t of (h_i or h_j)_t f_i,t f_j,t, of all pairs, [L, R].

    "Or" is one and the other less both, and so this is f_i . g_j + g_i . (f_j - g_j) with g = h * f: two matrix
    products, no array larger than those that come in and out.

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

    ``embedding`` is the gathering of rows whose gradient is summed in the same order every time, on a GPU too.
    """
    return (of.gather(1, buckets)[:, :, None] - embedding(buckets, to.T.contiguous())).abs()


def _at_either(forth: Tensor, back: Tensor, left_buckets: Tensor, right_buckets: Tensor, d: int) -> Tensor:
    """Sums ``forth`` [L, k, R], at the buckets of i, and ``back`` [R, k, L], at those of j; at common ones once."""
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
