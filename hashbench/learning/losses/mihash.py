"""Mutual information between distance and relevance in a minibatch: MIHash's objective."""

import torch
from torch import Tensor

from hashbench.learning.losses._batch import mean_where, relevant_mask
from hashbench.learning.losses.soft_histogram import relaxed_histogram

_SMALL_PROBABILITY = 1e-12  # log p is log max(p, this): so p log p and its derivative are finite at p = 0


def loss(relaxed: Tensor, relevance: Tensor, *, n_bins: int | None = None, delta: float = 1.0) -> Tensor:
    """Minus the mean mutual information I(D; C) in bits (log2), a float64 scalar in [-1, 0] to minimise.

    For each query I = H(D) - p^+ H(D | +) - p^- H(D | -). D is the distance of another example in the soft histogram,
    C is whether that example is relevant (level above 0), p^+ = N^+ / (M - 1), and P(D) = p^+ P(D | +) +
    p^- P(D | -). Each conditional distribution is divided by its own mass, so it sums to 1 for every ``delta``.

    ``relaxed`` is float[M, bits] in [-1, 1], ``relevance`` whole levels [M, M] whose diagonal never counts. Queries
    without a relevant or without an irrelevant example have I = 0 and are left out of the mean; if all are left out,
    the loss is 0 with zero gradients. The authors' code (mi_forward.m) sums over all queries. There an example whose
    multi-hot labels are all 0 is an irrelevant example of itself, so it adds a term of its own; here it adds none.
    """
    relevant = relevant_mask(relevance)
    counts = relaxed_histogram(relaxed, relevant.long(), 2, n_bins, delta)
    n_relevant = relevant.sum(1)
    share = n_relevant.double() / max(len(relaxed) - 1, 1)
    both = (n_relevant > 0) & (n_relevant < len(relaxed) - 1)
    return mean_where(-mutual_information(counts, share), both)


def mutual_information(counts: Tensor, share: Tensor) -> Tensor:
    """I(D; C) in bits, [M], of histograms ``counts`` [M, B, 2] (irrelevant, relevant) with p^+ = ``share`` [M]."""
    mass = counts.sum(1, keepdim=True)
    conditional = counts / torch.where(mass > 0, mass, 1)
    prior = torch.stack([1 - share, share], dim=1)
    marginal = (conditional * prior[:, None, :]).sum(2)
    return _entropy(marginal) - (prior * _entropy(conditional)).sum(1)


def _entropy(probability: Tensor) -> Tensor:
    """-sum p log2 p over dimension 1, with 0 log 0 = 0."""
    return -(probability * probability.clamp(min=_SMALL_PROBABILITY).log2()).sum(1)
