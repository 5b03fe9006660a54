"""Pairwise likelihood under a Cauchy distribution of distances: the objective of DCH, Deep Cauchy Hashing."""

from typing import Literal

import torch
from torch import Tensor

from hashbench.learning.losses._batch import (
    PairWeights,
    mean_where,
    off_diagonal_mask,
    pair_weights,
    relevant_mask,
    squared_distances,
)
from hashbench.learning.losses.metric_learning import cosines, unit_norm

Distance = Literal["cosine", "euclidean"]
_SMALLEST = 1e-3  # added to each distance, as in the authors' code: log(gamma / 0) of a dissimilar pair is infinite


def loss(
    relaxed: Tensor,
    relevance: Tensor,
    *,
    distance: Distance,
    gamma: float,
    weighting: PairWeights,
    eta: float,
    quantisation: Literal["cauchy", "square"] = "cauchy",
) -> Tensor:
    """The mean over pairs of -w log P(s | d), plus eta times the quantisation; a float64 scalar to minimise.

    A pair at distance d is similar with probability gamma / (gamma + d): a similar pair (level above 0) costs
    log(1 + d / gamma), a dissimilar one log(1 + gamma / d). d is bits/2 (1 - cos(h_i, h_j)), the Hamming distance of
    binary codes (cao2018deep), or ||h_i - h_j||^2, four times that (their code), plus 0.001. The quantisation is the
    mean over examples of log(1 + d(|h|, 1) / gamma), where 1 is the vector of ones, or that over examples and bits of
    the "square" (|h| - 1)^2, as in their code. w are the ``pair_weights`` of the kind ``weighting``; the mean divides
    by the number of the ordered pairs i != j and is 0 without any.

    ``relaxed`` is float[M, bits]. With cosines the loss, but for the square, does not depend on the length of a row.
    """
    counted = off_diagonal_mask(relevance)
    similar = relevant_mask(relevance)
    bits = relaxed.shape[1]
    size = relaxed.double().abs()
    if distance == "cosine":
        pairwise = bits / 2 * (1 - cosines(relaxed))
        to_ones = bits / 2 * (1 - unit_norm(size).sum(1) / bits**0.5)
    else:
        pairwise = squared_distances(relaxed)
        to_ones = (size - 1).square().sum(1)
    # rounding can make a cosine larger than 1, and so a distance negative
    pairwise = pairwise.clamp(min=0) + _SMALLEST
    to_ones = to_ones.clamp(min=0)
    cost = torch.where(similar, torch.log1p(pairwise / gamma), torch.log1p(gamma / pairwise))
    likelihood = mean_where(pair_weights(counted, similar, weighting) * cost, counted)
    if quantisation == "cauchy":
        term = torch.log1p(to_ones / gamma)
    else:
        term = (size - 1).square()
    return likelihood + eta * term.mean()
