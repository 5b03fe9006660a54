"""The relevance among training examples, and the types of objectives that are minimised with it."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.contract import TrainingData
from hashbench.scoring.relevance.distances import DistanceRelevance, as_float64


class Supervision(nn.Module):
    """The relevance of training examples to each other. A module, so that its buffers move to the device with it."""

    n_examples: int

    def levels(self, rows: Tensor, columns: Tensor | None = None) -> Tensor:
        """Relevance levels int64[M, N] of the examples ``rows`` [M] to the examples ``columns`` [N] (None: to all)."""
        raise NotImplementedError

    def similar(self, rows: Tensor) -> Tensor:
        """The mask bool[M, n] of levels above 0, from the examples ``rows`` [M] to all examples."""
        return self.levels(rows) > 0

    def alike(self) -> tuple[Tensor, Tensor]:
        """An example int64[U] of each group whose members have the same levels to all, and the group int64[n] of each.

        Here every example is a group of its own.
        """
        examples = torch.arange(self.n_examples)
        return examples, examples


class LabelSupervision(Supervision):
    """From class ids [n] (negative: no class) or multi-hot labels.

    HashbenchError if no two examples share a class or label, or if all have the same.
    """

    labels: Tensor

    def __init__(self, labels: ArrayLike) -> None:
        super().__init__()
        labels = torch.as_tensor(labels)
        if labels.ndim == 1:
            classes = labels[labels >= 0]
        else:
            classes = (labels > 0).nonzero()[:, 1]
        if len(torch.unique(classes)) == len(classes):
            raise HashbenchError("no two training examples share a class or label: nothing is relevant to a query")
        if (labels == labels[0]).all():
            raise HashbenchError("all training examples have the same class or labels: there is nothing to tell apart")
        self.n_examples = len(labels)
        self.register_buffer("labels", labels, persistent=False)

    def levels(self, rows: Tensor, columns: Tensor | None = None) -> Tensor:
        """``label_levels`` of the examples."""
        others = self.labels
        if columns is not None:
            others = others[columns]
        return label_levels(self.labels[rows], others)

    def similar(self, rows: Tensor) -> Tensor:
        """The mask of examples that share a class or label; without levels of 8 bytes, for M n are many."""
        labels = self.labels[rows]
        if labels.ndim == 1:
            return share_class(labels, self.labels)
        return label_levels(labels, self.labels) > 0

    def alike(self) -> tuple[Tensor, Tensor]:
        """Groups of equal labels."""
        different, groups = torch.unique(self.labels, dim=0, return_inverse=True)
        members = torch.empty(len(different), dtype=torch.int64, device=groups.device)
        members[groups] = torch.arange(self.n_examples, device=groups.device)  # any one of a group
        return members, groups


class DistanceSupervision(Supervision):
    """Supervision from Euclidean distances of features in memory, with the thresholds of ``relevance``."""

    features: Tensor  # of the examples as queries
    items: Tensor  # of the examples as what is ranked; most often the same
    thresholds: Tensor  # [n or 1, levels], ascending
    values: Tensor

    def __init__(self, relevance: DistanceRelevance) -> None:
        super().__init__()
        self.n_examples = relevance.shape[0]
        everyone = slice(0, self.n_examples)
        features = torch.from_numpy(as_float64(relevance.query_features[everyone]))
        are_same = relevance.database_features is relevance.query_features
        if are_same:
            items = features
        else:
            items = torch.from_numpy(as_float64(relevance.database_features[everyone]))
        ascending = torch.from_numpy(np.asarray(relevance.thresholds, np.float64)[::-1].copy())
        self.register_buffer("features", features, persistent=False)
        self.register_buffer("items", items, persistent=False)
        self.register_buffer("thresholds", ascending.reshape(len(ascending), -1).T.contiguous(), persistent=False)
        self.register_buffer("values", torch.tensor([*relevance.values[::-1], 0]), persistent=False)

    def levels(self, rows: Tensor, columns: Tensor | None = None) -> Tensor:
        """The level of the smallest threshold that the distance does not exceed, else 0."""
        # float64 matrix products: at a threshold the level may differ by rounding from that in scoring
        others = self.items if columns is None else self.items[columns]
        distance = torch.cdist(self.features[rows], others, compute_mode="use_mm_for_euclid_dist")
        if len(self.thresholds) == 1:
            return self.values[torch.bucketize(distance, self.thresholds[0])]
        return self.values[torch.searchsorted(self.thresholds[rows], distance)]


def supervision_of(data: TrainingData) -> Supervision:
    """The supervision of training data: from distances if the protocol defines relevance by them, else from labels."""
    if data.relevance is not None:
        return DistanceSupervision(data.relevance)
    return LabelSupervision(data.labels)


def label_levels(labels: Tensor, others: Tensor | None = None) -> Tensor:
    """Levels int64[M, N]: 1 if two class ids are equal (a negative one is none), or the number of shared labels."""
    if others is None:
        others = labels
    if labels.ndim == 1:
        return share_class(labels, others).long()
    # float32 products are exact for counts below 2^24; PyTorch has no integer matrix product on a GPU
    return (labels.float() @ others.float().T).long()


def share_class(labels: Tensor, others: Tensor) -> Tensor:
    """The mask bool[M, N] of equal class ids; a negative id is no class."""
    return (labels[:, None] == others[None, :]) & (labels[:, None] >= 0)


BatchLoss = Callable[[Tensor, Tensor], Tensor]  # (relaxed [M, bits], levels [M, M]) -> scalar


class RowObjective(nn.Module):
    """An objective that knows which training examples are in a batch. Its state is part of a checkpoint.

    Its parameters are trained with the network's, by the same optimiser; the saved hasher does not contain them.
    """

    n_views: ClassVar[int] = 1  # how often a batch is encoded, each time with other copies, augmentation and dropout
    uses_cpu: ClassVar[bool] = False  # whether a step computes something on the CPU, wherever the network is

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The scalar to minimise, of the relaxed codes ``activations`` [n_views M, bits] of the examples ``rows`` [M].

        The codes of one view of all examples come after those of the view before.
        """
        raise NotImplementedError

    def after_epoch(self, epoch: int) -> None:
        """Is called when an epoch (from 0) is over, such as to solve for codes; by default it does nothing."""

    def logged(self) -> dict[str, float]:
        """The numbers of the objective for the training log, by name."""
        return {}


Objective = BatchLoss | RowObjective


def as_row_objective(objective: Objective, supervision: Supervision) -> RowObjective:
    """``objective`` as a RowObjective, which the training loop needs; ``supervision`` gives the levels of a batch."""
    if isinstance(objective, RowObjective):
        return objective
    return _BatchObjective(objective, supervision)


class _BatchObjective(RowObjective):
    def __init__(self, loss: BatchLoss, supervision: Supervision) -> None:
        super().__init__()
        self.loss = loss
        self.supervision = supervision

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        return self.loss(activations, self.supervision.levels(rows, rows))


class ItemObjective(RowObjective):
    """An objective that compares codes with items. The training loop sets ``items`` before it calls the objective.

    ``items`` are the stored items [n_views M, ...] of the batch before normalisation: the copies that were drawn, and
    after ``feature_dropout``, as the network sees them.
    """

    items: Tensor

    @property
    def vectors(self) -> Tensor:
        """``items`` as vectors float64[n_views M, d]."""
        return self.items.flatten(1).double()


class OutputMemory(RowObjective):
    """An objective that stores the last output of each training example, ``outputs`` [n, bits], without gradient.

    An example that no batch has held yet has the output 0, so that a pair with it has no gradient; a mean over all
    examples counts it, so that the likelihood weighs less in the first epoch, as where authors start from zeros.
    """

    outputs: Tensor

    def __init__(self, supervision: Supervision, bits: int) -> None:
        super().__init__()
        self.supervision = supervision
        self.register_buffer("outputs", torch.zeros(supervision.n_examples, bits))

    def remember(self, rows: Tensor, activations: Tensor) -> None:
        """Stores ``activations`` [M, bits] as the outputs of the training examples ``rows`` [M]."""
        self.outputs[rows] = activations.detach().to(self.outputs.dtype)

    def products(self, rows: Tensor, activations: Tensor) -> Tensor:
        """The inner products float64[M, n] of ``activations``, stored as those of ``rows``, with all outputs."""
        self.remember(rows, activations)
        return activations.double() @ self.outputs.double().T
