"""Average precision of a soft histogram with the precision at the end of each bin: the objective of FastAP."""

from torch import Tensor

from hashbench.learning.losses.soft_histogram import SMALL_GROUP
from hashbench.learning.losses.tie_aware_ap import batch_loss, weighted_precision


def loss(relaxed: Tensor, relevance: Tensor, *, n_bins: int | None = None, delta: float = 1.0) -> Tensor:
    """1 - the batch mean of FastAP (cakir2019deep), a float64 scalar in [0, 1] to minimise.

    Arguments and special cases are those of ``tie_aware_ap.simplified``, the mean over queries with a relevant example.
    The relaxed Hamming distance of rows of one length, (bits - <h_i, h_j>) / 2, is the squared distance of the paper's
    unit vectors times bits / 4: so the paper's number of bins in [0, 4] is ``n_bins``.
    """
    return batch_loss(average_precision, relaxed, relevance, n_bins, delta)


def average_precision(positive: Tensor, total: Tensor, n_relevant: Tensor | None = None) -> Tensor:
    """FastAP of each histogram, [M]: sum_d (c_d^+ / N^+) C_d^+ / C_d, where C are cumulative counts.

    ``positive`` [M, B] is c^+, the relevant mass in each bin, ``total`` [M, B] is c, all mass there, and ``n_relevant``
    [M] is N^+ (None: the sum of ``positive``). A bin that nothing has reached contributes 0; the tie-aware AP differs
    inside a bin, where it has the mean of the precisions over the orders of the bin.
    """
    after = total.cumsum(1)
    reached = after > SMALL_GROUP
    precision = positive.cumsum(1) / after.where(reached, 1)
    return weighted_precision(precision.where(reached, 1), positive, n_relevant)
