"""The triplet objective of metric learning: an anchor, a positive and the semi-hard negative of the two."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

from hashbench.foundation.errors import HashbenchError
from hashbench.losses._batch import mean_where, off_diagonal_mask

_SMALL_NORM = 1e-6  # TensorFlow's l2_normalize divides by sqrt(max(sum of squares, 1e-12))


def loss(embeddings: Tensor, labels: Tensor, *, margin: float) -> Tensor:
    """The ``semi_hard`` objective on squared distances between unit vectors, a float64 scalar to minimise.

    The same as tf.contrib.losses.metric_learning.triplet_semihard_loss on l2-normalised embeddings, with which
    jeong2018efficient train their base model: d_ij = ||f_i / |f_i| - f_j / |f_j| ||^2.

    Args:
        embeddings: float[M, d], the outputs of the network; they are normalised here.
        labels: class ids, whole [M]; a negative id is no class.
        margin: by how much the negative should be farther than the positive.
    """
    check(embeddings, labels)
    unit = unit_norm(embeddings)
    squares = unit.square().sum(1)
    # rounding can make a small squared distance negative
    distance = (squares[:, None] + squares - 2 * unit @ unit.T).clamp(min=0)
    return semi_hard(distance, labels, margin=margin)


def semi_hard(distance: Tensor, labels: Tensor, *, margin: float) -> Tensor:
    """The mean of max(0, d_ap - d_an + margin) over all ordered pairs (a, p) of a class; a scalar to minimise.

    n is the semi-hard negative of the pair (see ``semi_hard_negatives``). Both distances have a gradient; the choice of
    n has none. For a batch without a positive pair or without a negative the loss is 0 with zero gradients.

    Args:
        distance: float[M, M], from anchors (rows) to all items; its diagonal never counts.
        labels: class ids, whole [M]; a negative id is no class: such an item is a negative of every other item.
        margin: alpha of schroff2015facenet.

    >>> one_class_near_the_other = torch.tensor([[0.0, 2.0, 3.0], [2.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    >>> semi_hard(one_class_near_the_other, torch.tensor([0, 0, 1]), margin=1.5)  # (2 - 3 + 1.5 + 2 - 1 + 1.5) / 2
    tensor(1.5000)
    """
    same = (labels[:, None] == labels) & (labels[:, None] >= 0)
    positive, negative = same & off_diagonal_mask(same), ~same & off_diagonal_mask(same)
    chosen = distance.gather(1, semi_hard_negatives(distance.detach(), negative))
    cost = (distance - chosen + margin).relu()
    counted = positive & negative.any(1, keepdim=True)
    return mean_where(cost.flatten(), counted.flatten())


def semi_hard_negatives(distance: Tensor, negative: Tensor) -> Tensor:
    """For each pair (a, p) the nearest negative of a that is farther than p; if there is none, the farthest negative.

    Returns int64[M, M]. ``negative`` bool[M, M] is True where n is a negative of a. "Farther" is strict; of negatives
    at the same distance the first is the nearest and the last is the farthest. The result is undefined for an anchor
    without negatives. Each row is sorted once and searched for all p, so it takes O(M^2 log M) time and a few arrays
    [M, M]; a mask over triplets would take M^3.

    >>> distance = torch.tensor([[0.0, 2.0, 1.0, 3.0], [2.0, 0.0, 1.0, 2.0]])
    >>> negative = torch.tensor([[False, False, True, True]] * 2)
    >>> semi_hard_negatives(distance, negative)[[0, 1], [1, 0]]  # 3 > 2: column 3; nothing > 2: the farthest
    tensor([3, 3])
    """
    ascending, column = distance.masked_fill(~negative, torch.inf).sort(dim=1, stable=True)
    farther = torch.searchsorted(ascending, distance.contiguous(), right=True)
    farthest = (negative.sum(1, keepdim=True) - 1).clamp(min=0)
    return column.gather(1, farther.minimum(farthest))


def unit_norm(embeddings: Tensor) -> Tensor:
    """The rows of ``embeddings`` [M, d] divided by their Euclidean norm, float64; a row of zeros stays zero."""
    return normalize(embeddings.double(), dim=1, eps=_SMALL_NORM)


def check(embeddings: Tensor, labels: Tensor) -> None:
    """Raises HashbenchError unless ``embeddings`` is float[M, d], M >= 1, and ``labels`` whole class ids [M]."""
    if embeddings.ndim != 2 or not embeddings.is_floating_point() or embeddings.numel() == 0:
        raise HashbenchError(f"batch: embeddings are {embeddings.dtype}{list(embeddings.shape)}; floats [M, d] needed")
    if labels.shape != embeddings.shape[:1] or labels.is_floating_point():
        raise HashbenchError(
            f"batch: labels are {labels.dtype}{list(labels.shape)}; whole class ids [{len(embeddings)}] are needed"
        )
