"""Tie-aware average precision of a minibatch, relaxed (he2018tieaware, section 4): TALR's objective."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from hashbench.learning.losses._batch import mean_where, relevant_mask
from hashbench.learning.losses.soft_histogram import SMALL_GROUP, cumulative_before, relaxed_histogram

Average = Callable[[Tensor, Tensor, Tensor], Tensor]  # AP of c^+, c and N^+

_NEARLY_ONE = 1 + 1e-8


def simplified(relaxed: Tensor, relevance: Tensor, *, n_bins: int | None = None, delta: float = 1.0) -> Tensor:
    """1 - the batch mean of AP_s (he2018tieaware, eq. 62), a float64 scalar to minimise.

    ``relaxed`` is float[M, bits] in [-1, 1], ``relevance`` whole levels [M, M], relevant above 0. Each example
    queries the other M - 1; the diagonal never counts. Examples without a relevant example are left out of the mean; if
    all are left out, the loss is 0 with zero gradients. ``n_bins`` (None: bits) and ``delta`` are those of the soft
    histogram. AP_s may differ much from the tie-aware AP on short lists and on lists with many ties.
    """
    return batch_loss(average_precision_simplified, relaxed, relevance, n_bins, delta)


def exact(relaxed: Tensor, relevance: Tensor, *, n_bins: int | None = None, delta: float = 1.0) -> Tensor:
    """1 - the batch mean of AP_r, in [0, 1]; at binary codes, n_bins = bits, delta = 1 it is 1 - the tie-aware AP."""
    return batch_loss(average_precision_exact, relaxed, relevance, n_bins, delta)


def as_released(relaxed: Tensor, relevance: Tensor, *, n_bins: int | None = None, delta: float = 1.0) -> Tensor:
    """The value and the gradient of the authors' code; the gradient is not that of the value.

    A distance l < d changes the precision at d through both C_{d-1} and C_d. Equations 71 to 73 have this factor 2, but
    apr_s_backward.m does not. At delta = 1 the value is that of ``simplified``. At a larger delta their histogram holds
    about delta times as much, and only the AP is divided by delta: so the two 1 of AP_s weigh less. Their gradient is
    not divided by delta; this one is. Arguments and special cases are those of ``simplified``.
    """
    return batch_loss(partial(average_precision_as_released, delta=delta), relaxed, relevance, n_bins, delta)


def average_precision_as_released(
    positive: Tensor, total: Tensor, n_relevant: Tensor | None = None, *, delta: float = 1.0
) -> Tensor:
    """AP_s of each histogram, [M], as apr_s_forward.m computes it, with half of the gradient through C_{d-1}.

    sum_d (c_d^+ / N^+) (delta (C_{d-1}^+ + C_d^+) + 1) / (delta (C_{d-1} + C_d) + 1). Arguments as
    ``average_precision_simplified``; the histogram of the authors' code is ``delta`` times this one.
    """
    before = cumulative_before(total.cumsum(1))
    before_positive = cumulative_before(positive.cumsum(1))
    before = (before + before.detach()) / 2  # half the gradient
    before_positive = (before_positive + before_positive.detach()) / 2
    precision = (delta * (2 * before_positive + positive) + 1) / (delta * (2 * before + total) + 1)
    return weighted_precision(precision, positive, n_relevant)


def average_precision_simplified(positive: Tensor, total: Tensor, n_relevant: Tensor | None = None) -> Tensor:
    """AP_s of each histogram, [M]: sum_d (c_d^+ / N^+) (C_{d-1}^+ + C_d^+ + 1) / (C_{d-1} + C_d + 1).

    ``positive`` [M, B] is c^+, the relevant mass at each distance, ``total`` [M, B] is c, all mass there, and
    ``n_relevant`` [M] is N^+ (None: the sum of ``positive``). A query without relevant items has AP 0.
    """
    after = total.cumsum(1)
    after_positive = positive.cumsum(1)
    precision = (cumulative_before(after_positive) + after_positive + 1) / (cumulative_before(after) + after + 1)
    return weighted_precision(precision, positive, n_relevant)


def average_precision_exact(positive: Tensor, total: Tensor, n_relevant: Tensor | None = None) -> Tensor:
    """AP_r of each histogram, [M] in [0, 1], equal to the tie-aware AP where all counts are whole numbers.

    Equation 26 of he2018tieaware with the harmonic numbers continued by the digamma function,

        sum_d (c_d^+ / N^+) [ r + (C_{d-1}^+ + 1 - r (C_{d-1} + 1)) (H(C_d) - H(C_{d-1})) / c_d ],

    r = (c_d^+ - 1) / (c_d - 1) clipped to [0, 1], and 1 where c_d <= 1. Equation 11, which takes logarithms in
    place of H, is infinite at the first distance that holds anything. This H is concave, H(x + 1) - H(x) =
    1 / (x + 1) for every x, and its slope at x is below 1 / x: so each term lies between 0 and c_d^+ / N^+. An
    empty distance contributes 0; its gradient is that of the first mass to arrive there. Arguments as
    ``average_precision_simplified``.
    """
    before = cumulative_before(total.cumsum(1))
    before_positive = cumulative_before(positive.cumsum(1))
    is_group = total > _NEARLY_ONE
    ratio = ((positive - 1) / torch.where(is_group, total - 1, 1)).clamp(0, 1)
    ratio = torch.where(is_group, ratio, 1)
    factor = before_positive + 1 - ratio * (before + 1)  # before the next lines: their order is that of the gradients
    # the mean of 1 / rank over a group's ranks; the limit for a small group changes it by less than 1e-7
    is_filled = total > SMALL_GROUP
    difference = torch.digamma(before + total + 1) - torch.digamma(before + 1)
    mean = difference / torch.where(is_filled, total, 1)
    reciprocal = torch.where(is_filled, mean, torch.polygamma(1, before + 1))
    return weighted_precision(ratio + factor * reciprocal, positive, n_relevant)


def weighted_precision(precision: Tensor, positive: Tensor, n_relevant: Tensor | None) -> Tensor:
    """The mean of ``precision`` [M, B] over the relevant mass ``positive`` [M, B] of each query, [M]; 0 without any."""
    if n_relevant is None:
        n_relevant = positive.sum(1)
    return (positive * precision).sum(1) / torch.where(n_relevant > 0, n_relevant, 1)


def batch_loss(average: Average, relaxed: Tensor, relevance: Tensor, n_bins: int | None, delta: float) -> Tensor:
    """1 - the mean of ``average`` over the queries of a batch that have a relevant example, as in ``simplified``."""
    relevant = relevant_mask(relevance)
    counts = relaxed_histogram(relaxed, relevant.long(), 2, n_bins, delta)
    n_relevant = relevant.sum(1)
    value = average(counts[:, :, 1], counts.sum(2), n_relevant)
    return mean_where(1 - value, n_relevant > 0)
