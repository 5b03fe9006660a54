"""The triplet objective on gated distances: the hash stage of jeong2018efficient for a base trained with triplets."""

from torch import Tensor

from hashbench.losses import gated
from hashbench.losses.triplet import check, semi_hard, unit_norm


def loss(embeddings: Tensor, labels: Tensor, buckets: Tensor, *, margin: float) -> Tensor:
    """The semi-hard objective on the gated distances of unit vectors, a float64 scalar to minimise [eq. 9].

    d_ij = ||(h_i or h_j) * (f_i / |f_i| - f_j / |f_j|)||_1; the norm |f| is over all bits, set or not. The negatives
    are chosen by these distances with the rule of ``triplet.semi_hard``.

    Args:
        embeddings: float[M, d], the outputs of the network; they are normalised here.
        labels: class ids, whole [M]; a negative id is no class.
        buckets: the set bits of each item's code, int64[M, k], none twice; constants.
        margin: by how much the negative should be farther than the positive.
    """
    check(embeddings, labels)
    return semi_hard(gated.distance_within(unit_norm(embeddings), buckets), labels, margin=margin)
