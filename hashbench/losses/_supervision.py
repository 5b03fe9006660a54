"""Supervision, the relevance among training examples: from their labels, or from distances between their features."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from hashbench.contract import TrainingData
from hashbench.foundation.errors import HashbenchError
from hashbench.relevance.distances import DistanceRelevance, as_float64


class Supervision(nn.Module):
    """The relevance of training examples to each other. A module, so that its buffers move to the device with it."""

    @property
    @abstractmethod
    def n_examples(self) -> int:
        """The number of training examples."""
        raise NotImplementedError

    @abstractmethod
    def levels(self, rows: Tensor, columns: Tensor | None = None) -> Tensor:
        """Relevance levels int64[M, N] of the examples ``rows`` [M] to the examples ``columns`` [N] (None: to all).

        The level of an example to itself is its highest level, or 0 if it has no label.
        """
        raise NotImplementedError


class LabelSupervision(Supervision):
    """Supervision from labels: class ids [n] (a negative id is no class) or multi-hot labels [n, labels].

    The level of two examples is 1 if they have the same class, or the number of labels that they share. If no two
    examples are relevant to each other, HashbenchError is raised. A batch without a relevant pair is not an error: its
    loss has no gradient, or only that of the quantisation.
    """

    labels: Tensor

    def __init__(self, labels: Tensor) -> None:
        super().__init__()
        if len(labels) < 2:
            raise HashbenchError(f"{len(labels)} training example: a ranking needs a query and something to rank")
        given = labels[labels >= 0] if labels.ndim == 1 else (labels > 0).nonzero()[:, 1]
        if len(torch.unique(given)) == len(given):
            raise HashbenchError(
                "no two training examples share a class or label: there is nothing relevant to rank first"
            )
        self.register_buffer("labels", labels, persistent=False)

    @property
    def n_examples(self) -> int:
        """Training examples."""
        return len(self.labels)

    def levels(self, rows: Tensor, columns: Tensor | None = None) -> Tensor:
        """As ``Supervision.levels``: 1 for the same class, or the number of shared labels."""
        return label_levels(self.labels[rows], self.labels if columns is None else self.labels[columns])


class DistanceSupervision(Supervision):
    """Supervision from Euclidean distances of features, with the thresholds of ``relevance``.

    Distances are computed in float64 by a matrix product. So the level of a pair whose distance equals a threshold up
    to rounding may differ from that in scoring. All features are in memory, float64[n, f].
    """

    features: Tensor
    thresholds: Tensor
    values: Tensor

    def __init__(self, relevance: DistanceRelevance) -> None:
        super().__init__()
        features = torch.from_numpy(as_float64(relevance.query_features[0 : relevance.shape[0]]))
        self.register_buffer("features", features, persistent=False)
        ascending = torch.tensor(relevance.thresholds, dtype=torch.float64).flip(0)
        self.register_buffer("thresholds", ascending, persistent=False)
        self.register_buffer("values", torch.tensor([*relevance.values[::-1], 0]), persistent=False)

    @property
    def n_examples(self) -> int:
        """Training examples."""
        return len(self.features)

    def levels(self, rows: Tensor, columns: Tensor | None = None) -> Tensor:
        """As ``Supervision.levels``: the level of the smallest threshold that the distance does not exceed, else 0."""
        others = self.features if columns is None else self.features[columns]
        distance = torch.cdist(self.features[rows], others, compute_mode="use_mm_for_euclid_dist")
        return self.values[torch.bucketize(distance, self.thresholds)]


def supervision_of(data: TrainingData) -> Supervision:
    """The supervision of training data: from distances if the protocol defines relevance by them, else from labels."""
    return (
        LabelSupervision(torch.from_numpy(data.labels))
        if data.relevance is None
        else DistanceSupervision(data.relevance)
    )


def label_levels(labels: Tensor, others: Tensor | None = None) -> Tensor:
    """Relevance levels int64[M, N] from labels: 1 if two class ids are equal, or the number of shared multi-hot labels.

    Without ``others`` the items are compared with each other. A negative id is no class: such an item is relevant to
    no item, not even to itself.
    """
    others = labels if others is None else others
    if labels.ndim == 1:
        return ((labels[:, None] == others[None, :]) & (labels[:, None] >= 0)).long()
    # float32 products are exact for counts below 2^24; PyTorch has no integer matrix product on a GPU
    return (labels.float() @ others.float().T).long()
