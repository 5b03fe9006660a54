"""Objectives that learn from the classes of training examples, by fixed centres or by a classifier on the codes."""

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.losses._batch import mean_where
from hashbench.learning.losses._centres import Kind, centres, distances
from hashbench.learning.losses._objective import RowObjective
from hashbench.learning.losses.metric_learning import unit_norm
from hashbench.scoring.codes.hadamard import Signs


class ClassSupervision(nn.Module):
    """The classes of training examples, from class ids [n] (negative: no class) or multi-hot labels [n, labels].

    Classes without a training example do not count; the others are 0 .. n_classes - 1 here, in ascending order.
    ``seed`` is that of centres and classifiers.
    """

    labels: Tensor  # int64[n], or bool[n, n_classes] if some example has several
    n_classes: int
    seed: int

    def __init__(self, labels: Tensor, seed: int) -> None:
        super().__init__()
        if labels.ndim == 2:
            labels = (labels > 0)[:, (labels > 0).any(0)]
            self.n_classes = labels.shape[1]
            if not (labels.sum(1) > 1).any():  # as class ids: they take less memory
                labels = torch.where(labels.any(1), (labels * torch.arange(self.n_classes)).sum(1), -1)
        if labels.ndim == 1:
            ids = torch.unique(labels[labels >= 0])
            self.n_classes = len(ids)
            labels = torch.where(labels >= 0, torch.searchsorted(ids, labels.contiguous()), -1)
        self.seed = seed
        self.register_buffer("labels", labels, persistent=False)

    @property
    def are_several(self) -> bool:
        """True if some example has several labels."""
        return self.labels.ndim == 2

    def members(self, rows: Tensor) -> Tensor:
        """float64[M, n_classes]: 1 where an example of ``rows`` [M] has the class, else 0."""
        labels = self.labels[rows]
        if self.are_several:
            return labels.double()
        return functional.one_hot(labels + 1, self.n_classes + 1)[:, 1:].double()


def fixed_centres(kind: Kind, classes: ClassSupervision, bits: int) -> Signs:
    """The centres of ``classes``, int8[n_classes, bits], drawn by their seed."""
    return centres(kind, classes.n_classes, bits, classes.seed)


class CentreObjective(RowObjective):
    """The ``loss`` of activations [M, bits], members [M, n] and fixed ``centres`` int8[n, bits] of the n classes.

    The centres are its state.
    """

    centres: Tensor

    def __init__(
        self, classes: ClassSupervision, centres: Signs, loss: Callable[[Tensor, Tensor, Tensor], Tensor]
    ) -> None:
        super().__init__()
        self.classes = classes
        self.loss = loss
        self.register_buffer("centres", torch.from_numpy(centres))

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise."""
        return self.loss(activations, self.classes.members(rows), self.centres)

    def logged(self) -> dict[str, float]:
        """The smallest and the mean distance between two centres."""
        smallest, mean = distances(self.centres.cpu().numpy())
        return {"centre_distance_min": smallest, "centre_distance_mean": round(mean, 3)}


class HeadObjective(RowObjective):
    """Has a linear classifier of the codes, ``head``, trained with the network and not part of the hasher.

    HashbenchError for several labels where it does not take them.
    """

    takes_several: ClassVar[bool] = False

    def __init__(self, classes: ClassSupervision, bits: int, *, bias: bool = True) -> None:
        super().__init__()
        if classes.are_several and not self.takes_several:
            method = type(self).__module__.rpartition(".")[2]
            raise HashbenchError(
                f"{method}: training examples with several labels, for which its paper defines nothing: "
                "ce, csq, dpn, hbmp, mds_centres and orthohash take them"
            )
        self.classes = classes
        self.head = nn.Linear(bits, classes.n_classes, bias=bias)
        generator = torch.Generator().manual_seed(classes.seed)
        for values in self.head.parameters():  # as PyTorch does by default
            nn.init.uniform_(values, -(bits**-0.5), bits**-0.5, generator=generator)

    def cross_entropy(self, codes: Tensor, rows: Tensor) -> Tensor:
        """``soft_cross_entropy`` of the classifier's outputs W b + a for ``codes`` [M, bits], float64."""
        bias = None
        if self.head.bias is not None:
            bias = self.head.bias.double()
        logits = functional.linear(codes.double(), self.head.weight.double(), bias)
        return soft_cross_entropy(logits, self.classes.members(rows))


def label_shares(members: Tensor) -> Tensor:
    """The shares y / |y| of ``members`` y [M, C]: the labels of an example weigh 1 in all, or 0 if it has none."""
    return members / members.sum(1, keepdim=True).clamp(min=1)


def centre_products(activations: Tensor, centres: Tensor) -> Tensor:
    """sqrt(bits) cos(u, c_k), float64[M, C]: ``activations`` u [M, bits], ``centres`` c [C, bits] of -1 and +1."""
    return unit_norm(activations) @ centres.double().T


def soft_cross_entropy(logits: Tensor, members: Tensor) -> Tensor:
    """The mean over examples of -sum_k (y_k / |y|) log p_k, p the softmax of ``logits`` [M, C], y ``members`` [M, C].

    An example without a label does not count.
    """
    cost = -(label_shares(members) * logits.log_softmax(1)).sum(1)
    return mean_where(cost, members.any(1))


def majority(members: Tensor, centres: Tensor, fill: Tensor) -> Tensor:
    """The sign of the sum of the centres of each example's labels, [M, bits]; ``fill`` [bits] where that is 0."""
    total = members @ centres.to(members.dtype)
    return torch.where(total == 0, fill.to(members.dtype), total.sign())
