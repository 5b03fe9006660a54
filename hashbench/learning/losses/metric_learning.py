"""The objectives of metric learning with which jeong2018efficient train their base model: triplets and N-pairs."""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from hashbench.learning.losses._batch import inner_products, mean_where, off_diagonal_mask, squared_distances

_SMALL_NORM = 1e-6  # TensorFlow's l2_normalize divides by sqrt(max(sum of squares, 1e-12))


def triplet(embeddings: Tensor, labels: Tensor, *, margin: float) -> Tensor:
    """The ``semi_hard`` objective on squared distances between unit vectors, a float64 scalar to minimise.

    The same as tf.contrib.losses.metric_learning.triplet_semihard_loss on l2-normalised embeddings. ``embeddings``
    float[M, d] are normalised here; ``labels`` [M] are class ids, and a negative id is no class.
    """
    return semi_hard(squared_distances(unit_norm(embeddings)), labels, margin=margin)


def semi_hard(distance: Tensor, labels: Tensor, *, margin: float) -> Tensor:
    """The mean of max(0, d_ap - d_an + margin) over all ordered pairs (a, p) of a class; a scalar to minimise.

    n is the semi-hard negative of the pair (see ``semi_hard_negatives``). Both distances have a gradient; the choice of
    n has none. For a batch without a positive pair or without a negative the loss is 0 with zero gradients.

    ``distance`` is float[M, M], from anchors (rows) to all items; its diagonal never counts. ``labels`` [M] are class
    ids; an item with a negative id is a negative of every other item. ``margin`` is alpha of schroff2015facenet.
    """
    same = (labels[:, None] == labels) & (labels[:, None] >= 0)
    positive = same & off_diagonal_mask(same)
    negative = ~same & off_diagonal_mask(same)
    chosen = distance.gather(1, semi_hard_negatives(distance.detach(), negative))
    cost = (distance - chosen + margin).relu()
    counted = positive & negative.any(1, keepdim=True)
    return mean_where(cost.flatten(), counted.flatten())


def semi_hard_negatives(distance: Tensor, negative: Tensor) -> Tensor:
    """The nearest negative of a that is farther than p, for each pair (a, p); if there is none, the farthest negative.

    Returns int64[M, M]. ``negative`` bool[M, M] is True where n is a negative of a. "Farther" is strict; of negatives
    at the same distance the first is the nearest and the last is the farthest. The result is undefined for an anchor
    without negatives. Each row is sorted once and searched for all p, so it takes O(M^2 log M) time and a few arrays
    [M, M]; a mask over triplets would take M^3.
    """
    ascending, column = distance.masked_fill(~negative, torch.inf).sort(dim=1, stable=True)
    farther = torch.searchsorted(ascending, distance.contiguous(), right=True)
    farthest = (negative.sum(1, keepdim=True) - 1).clamp(min=0)
    return column.gather(1, farther.minimum(farthest))


def npairs(embeddings: Tensor, *, l2: float) -> Tensor:
    """The ``multi_class`` objective of the inner products <a_i, p_j>, a float64 scalar to minimise [sohn2016improved].

    The same as tf.contrib.losses.metric_learning.npairs_loss; the embeddings are not normalised. ``embeddings``
    float[2 n, d] are in two rounds: the anchors of n different classes, then their positives in the same order.
    """
    anchors, positives = embeddings.double().chunk(2)
    return multi_class(anchors @ positives.T, embeddings, l2=l2)


def multi_class(similarity: Tensor, embeddings: Tensor, *, l2: float) -> Tensor:
    """The mean of log(1 + sum over j != i of e^(s_ij - s_ii)) over i, plus l2 / 4 (mean |a|^2 + mean |p|^2).

    ``similarity`` [n, n] is between anchors (rows) and positives; ``embeddings`` [2 n, d] are those of both. Eq. 10 of
    jeong2018efficient divides the sum of all |f|^2 by their number, 2 n, so its lambda is half of this ``l2``; their
    code and TensorFlow use ``l2``.
    """
    matching = torch.arange(len(similarity), device=similarity.device)
    cost = cross_entropy(similarity, matching)
    return cost + l2 / 2 * embeddings.double().square().sum(1).mean().to(similarity.dtype)


def unit_norm(embeddings: Tensor) -> Tensor:
    """The rows of ``embeddings`` [M, d] divided by their Euclidean norm, float64; a row of zeros stays zero."""
    return normalize(embeddings.double(), dim=1, eps=_SMALL_NORM)


def cosines(embeddings: Tensor) -> Tensor:
    """The cosines between the rows of ``embeddings`` [M, d], float64[M, M]; a row of zeros has cosine 0 to all."""
    return inner_products(unit_norm(embeddings))
