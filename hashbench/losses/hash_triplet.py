"""Triplets that are compared where their codes are set: the hash stage of jeong2018efficient from a triplet base."""

from torch import Tensor

from hashbench.losses import _gated
from hashbench.losses.triplet import check, semi_hard, unit_norm


def loss(embeddings: Tensor, labels: Tensor, buckets: Tensor, *, margin: float) -> Tensor:
    """The semi-hard objective on the gated distances of unit vectors, a float64 scalar to minimise [eq. 9].

    d_ij = ||(h_i or h_j) * (f_i / |f_i| - f_j / |f_j|)||_1; the norm is that of all bits, set or not. The negatives
    are mined among these distances by the rule of ``triplet.semi_hard``.

    Args:
        embeddings: float[M, d], as they leave the network; they are normalised here.
        labels: class ids, whole [M]; a negative id is no class.
        buckets: the set bits of each item's code, int64[M, k], none twice; constants.
        margin: by how much the negative should be farther than the positive.
    """
    check(embeddings, labels)
    return semi_hard(_gated.distance_within(unit_norm(embeddings), buckets), labels, margin=margin)
