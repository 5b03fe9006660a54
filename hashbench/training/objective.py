"""What is minimised: a function of a batch's relaxed codes and levels, or one that knows which examples stand in it."""

from collections.abc import Callable

import torch
from torch import Tensor

from hashbench.errors import HashbenchError
from hashbench.losses._objective import RowObjective

BatchObjective = Callable[[Tensor, Tensor], Tensor]  # (relaxed [M, bits], levels [M, M]) -> scalar
Objective = BatchObjective | RowObjective


def check_examples(labels: Tensor) -> None:
    """Raises HashbenchError unless two of the training examples, class ids [n] or multi-hot [n, labels], are relevant.

    A batch without a relevant pair is no error: its loss has no gradient, or that of the quantisation alone.
    """
    if len(labels) < 2:
        raise HashbenchError(f"{len(labels)} training example: a ranking needs a query and something to rank")
    given = labels[labels >= 0] if labels.ndim == 1 else (labels > 0).nonzero()[:, 1]
    if len(torch.unique(given)) == len(given):
        raise HashbenchError("no two training examples share a class or label: there is nothing relevant to rank first")


def levels(labels: Tensor) -> Tensor:
    """Affinity levels [M, M] of a batch: agreement of class ids [M], or shared labels of multi-hot [M, labels].

    A negative id is no class: such an item is similar to nothing, not even to itself.
    """
    if labels.ndim == 1:
        return ((labels[:, None] == labels[None, :]) & (labels[:, None] >= 0)).long()
    # float32 products are exact for counts below 2^24, and integers have no matrix product on a GPU
    return (labels.float() @ labels.float().T).long()
