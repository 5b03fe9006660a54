"""Squared distances with a margin: the objective of DSH, Deep Supervised Hashing."""

from torch import Tensor

from hashbench.learning.losses._batch import (
    mean_where,
    off_diagonal_mask,
    quantisation,
    relevant_mask,
    squared_distances,
)


def loss(activations: Tensor, relevance: Tensor, *, margin: float, alpha: float) -> Tensor:
    """The mean over pairs of s/2 D + (1 - s)/2 max(m - D, 0), plus 2 alpha times the quantisation; a float64 scalar.

    D_ij = ||u_i - u_j||^2; s_ij = 1 where the level is above 0; m is ``margin`` (liu2016deep: 2 bits). The paper adds
    alpha (|| |u_i| - 1 ||_1 + || |u_j| - 1 ||_1) to each pair: over all pairs that is 2 alpha times the mean over
    examples of the sum over bits. The mean runs over the M (M - 1) ordered pairs i != j and is 0 without any.

    The gradient of the authors' layer is half of this one, in both terms. The value that it prints is another one.

    ``activations`` float[M, bits] are not squashed; the diagonal of the levels ``relevance`` [M, M] never counts.
    """
    distance = squared_distances(activations)
    cost = distance.where(relevant_mask(relevance), (margin - distance).relu()) / 2
    return mean_where(cost, off_diagonal_mask(relevance)) + 2 * alpha * quantisation(activations, 1)
