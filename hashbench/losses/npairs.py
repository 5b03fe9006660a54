"""The N-pair objective of metric learning: one pair for each class; the other classes' positives are the negatives."""

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from hashbench.foundation.errors import HashbenchError


def loss(embeddings: Tensor, *, l2: float) -> Tensor:
    """The ``multi_class`` objective of the inner products <a_i, p_j>, a float64 scalar to minimise [sohn2016improved].

    The same as tf.contrib.losses.metric_learning.npairs_loss, with which jeong2018efficient train their base model; the
    embeddings are not normalised.

    Args:
        embeddings: float[2 n, d] in two rounds: the anchors of n different classes, then their positives in the same
            order of classes.
        l2: weight of the regulariser.
    """
    anchors, positives = rounds(embeddings.double())
    return multi_class(anchors @ positives.T, embeddings, l2=l2)


def multi_class(similarity: Tensor, embeddings: Tensor, *, l2: float) -> Tensor:
    """The mean of log(1 + sum over j != i of e^(s_ij - s_ii)) over i, plus l2 / 4 (mean |a|^2 + mean |p|^2).

    ``similarity`` [n, n] is between anchors (rows) and positives; ``embeddings`` [2 n, d] are those of both. Eq. 10 of
    jeong2018efficient divides the sum of all |f|^2 by their number, 2 n, so its lambda is half of this ``l2``; their
    code and TensorFlow use ``l2``.

    >>> multi_class(torch.zeros(2, 2), torch.ones(4, 3), l2=1.0) - torch.tensor(2.0).log()
    tensor(1.5000)
    """
    own = torch.arange(len(similarity), device=similarity.device)
    return cross_entropy(similarity, own) + l2 / 2 * embeddings.double().square().sum(1).mean().to(similarity.dtype)


def rounds(rows: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the second half of ``rows`` [2 n, m]; raises HashbenchError if they cannot be two rounds."""
    if rows.ndim != 2 or rows.numel() == 0 or len(rows) % 2:
        raise HashbenchError(f"npairs: a batch of shape {list(rows.shape)}; two rounds of n classes, [2 n, d], needed")
    n = len(rows) // 2
    return rows[:n], rows[n:]
