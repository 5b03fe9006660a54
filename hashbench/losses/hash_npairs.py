"""The N-pair objective on gated distances: the hash stage of jeong2018efficient for a base trained with N-pairs."""

from torch import Tensor

from hashbench.losses import gated
from hashbench.losses.npairs import multi_class, rounds


def loss(embeddings: Tensor, buckets: Tensor, *, l2: float) -> Tensor:
    """The N-pair objective with -d_ij, the gated distances, as similarities; a float64 scalar to minimise [eq. 10].

    d_ij = ||(h_i or h_j) * (a_i - p_j)||_1. The regulariser is that of ``npairs.multi_class``, applied to the whole
    embeddings: it is the only term that acts on the bits that no code sets.

    Args:
        embeddings: float[2 n, d] in two rounds: the anchors of n different classes, then their positives.
        buckets: the set bits of each item's code, int64[2 n, k], none twice; constants.
        l2: weight of the regulariser.
    """
    (anchors, positives), (of_anchors, of_positives) = rounds(embeddings.double()), rounds(buckets)
    distance = gated.distance(anchors, of_anchors, positives, of_positives)
    return multi_class(-distance, embeddings, l2=l2)


def as_released(embeddings: Tensor, buckets: Tensor, *, l2: float) -> Tensor:
    """As ``loss``, with the inner products of the gated embeddings as similarities: the released code's default.

    s_ij is the sum of a_i,t p_j,t over the bits t that either code sets. In the released code this is ``h1``, and
    ``loss`` is ``h2``.
    """
    (anchors, positives), (of_anchors, of_positives) = rounds(embeddings.double()), rounds(buckets)
    return multi_class(gated.similarity(anchors, of_anchors, positives, of_positives), embeddings, l2=l2)
