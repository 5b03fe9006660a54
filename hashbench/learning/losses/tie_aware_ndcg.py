"""Tie-aware NDCG of a minibatch, relaxed (he2018tieaware, section 4): TALR's objective for graded relevance."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from hashbench.learning.losses._batch import mean_where, relevant_mask
from hashbench.learning.losses.soft_histogram import SMALL_GROUP, cumulative_before, relaxed_histogram


def simplified(relaxed: Tensor, relevance: Tensor, *, n_bins: int | None = None, delta: float = 1.0) -> Tensor:
    """1 - the batch mean of NDCG_s (he2018tieaware, eq. 66), a float64 scalar to minimise.

    ``relaxed`` is float[M, bits] in [-1, 1], ``relevance`` whole levels v >= 0, [M, M], with gains 2^v - 1 (below
    2^1024: levels of at most 1023). Each example queries the other M - 1; the diagonal never counts, neither for
    the gain nor for the ideal order. Examples without a relevant example are left out of the mean; if all are left out,
    the loss is 0 with zero gradients. ``n_bins`` (None: bits) and ``delta`` are those of the soft histogram.
    NDCG_s uses the discount at the middle rank of each group of ties, so it can exceed 1 by a little.
    """
    return _loss(dcg_simplified, relaxed, relevance, n_bins, delta)


def exact(relaxed: Tensor, relevance: Tensor, *, n_bins: int | None = None, delta: float = 1.0) -> Tensor:
    """1 - the batch mean of NDCG_r, in [0, 1] at delta = 1; at binary codes and n_bins = bits it is 1 - the metric."""
    return _loss(dcg_exact, relaxed, relevance, n_bins, delta)


def as_released(relaxed: Tensor, relevance: Tensor, *, n_bins: int | None = None, delta: float = 1.0) -> Tensor:
    """1 - the batch mean of NDCG_s as the authors' code computes it; other arguments and special cases: ``simplified``.

    Their levels are int8 in the release before May 2021, in which 2^v saturates at 127: a level of 7 or more has the
    gain 126. Since commit a3b605e they are int16, which no data set's levels exceed. The ideal order includes the
    query itself, at the level on the diagonal of ``relevance``, but the histogram does not: so the value is below 1.
    """
    return _loss(dcg_simplified, relaxed, relevance, n_bins, delta, with_itself=True, largest=126)


def dcg_simplified(counts: Tensor, gains: Tensor) -> Tensor:
    """DCG_s of each histogram, [M]: sum_d sum_v G(v) c[d, v] / log2(C_{d-1} + c_d / 2 + 3/2).

    ``counts`` [M, B, V] is c, the mass at each distance and level; ``gains`` [V] is G, the gain of each level.
    """
    total = counts.sum(2)
    middle = cumulative_before(total.cumsum(1)) + total / 2
    return ((counts @ gains) / torch.log2(middle + 1.5)).sum(1)


def dcg_exact(counts: Tensor, gains: Tensor) -> Tensor:
    """DCG_r of each histogram, [M], equal to the tie-aware DCG where all counts are whole numbers.

    sum_d (sum_v G(v) c[d, v]) (S(C_d) - S(C_{d-1})) / c_d, with S(x) the sum of the discounts 1 / log2(t + 1) of
    the first x ranks, linear between whole numbers. (Eq. 12 of he2018tieaware has an integral instead of this sum; it
    is infinite if C_{d-1} = 0.) S is concave, so no histogram exceeds the ideal order. An empty distance contributes 0;
    its gradient is the limit for a vanishing mass. Arguments as ``dcg_simplified``.
    """
    total = counts.sum(2)
    before = cumulative_before(total.cumsum(1))
    sums = _discount_sums(int(total.sum(1).nan_to_num().max()) + 1, before)
    is_filled = total > SMALL_GROUP
    difference = _interpolate(sums, before + total) - _interpolate(sums, before)
    next_discount = 1 / torch.log2(before.detach().floor() + 2)
    mean_discount = torch.where(is_filled, difference / torch.where(is_filled, total, 1), next_discount)
    return ((counts @ gains) * mean_discount).sum(1)


def ideal_dcg(level_counts: Tensor, gains: Tensor) -> Tensor:
    """The DCG of the best order, [M], of ``level_counts`` [M, V] items with the ascending ``gains`` [V]."""
    after = level_counts.flip(1).cumsum(1).double()  # a counting sort
    sums = _discount_sums(int(level_counts.sum(1).max()), after)
    return (_interpolate(sums, after) - _interpolate(sums, cumulative_before(after))) @ gains.flip(0)


def _discount_sums(n_ranks: int, like: Tensor) -> Tensor:
    ranks = torch.arange(1, n_ranks + 2, device=like.device, dtype=like.dtype)
    return pad((1 / torch.log2(ranks + 1)).cumsum(0), (1, 0))


def _interpolate(table: Tensor, x: Tensor) -> Tensor:
    lower = x.detach().long().clamp(0, len(table) - 2)
    return table[lower] + (x - lower) * (table[lower + 1] - table[lower])


def _loss(
    dcg: Callable[[Tensor, Tensor], Tensor],
    relaxed: Tensor,
    relevance: Tensor,
    n_bins: int | None,
    delta: float,
    *,
    with_itself: bool = False,
    largest: float = torch.inf,
) -> Tensor:
    if with_itself:
        level = relevance.long().clamp(min=0)
    else:
        level = relevance.long() * relevant_mask(relevance)
    present = torch.bincount(level.flatten()).nonzero().flatten()  # ascending; level 0 is on the diagonal
    index = torch.searchsorted(present, level)
    counts = relaxed_histogram(relaxed, index, len(present), n_bins, delta)
    gains = (torch.exp2(present.double()) - 1).clamp(max=largest)
    # without `with_itself` a query counts among its items of level 0; their gain is 0, so the ideal DCG is the same
    level_counts = level.new_zeros(len(level), len(present)).scatter_add_(1, index, torch.ones_like(index))
    ideal = ideal_dcg(level_counts, gains)
    return mean_where(1 - dcg(counts, gains) / ideal.clamp(min=1), ideal > 0)
