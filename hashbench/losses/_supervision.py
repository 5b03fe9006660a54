"""What says which training examples are alike: their labels, or the distances between their features."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from hashbench.errors import HashbenchError
from hashbench.hasher import TrainingData
from hashbench.relevance.distances import DistanceRelevance, as_float64


class Supervision(nn.Module):
    """The relevance of training examples to each other. Its buffers go to the device with it."""

    @property
    @abstractmethod
    def n_examples(self) -> int:
        """Training examples."""
        raise NotImplementedError

    @abstractmethod
    def levels(self, rows: Tensor, columns: Tensor | None = None) -> Tensor:
        """Levels int64[M, N] of the examples ``rows`` [M] to the examples ``columns`` [N], or to all.

        Of an example to itself it is the highest it has, or 0 where it has no label at all.
        """
        raise NotImplementedError


class ByLabel(Supervision):
    """By class ids [n], a negative id being no class, or by how many labels two share of multi-hot [n, labels].

    Raises HashbenchError unless two of the examples are relevant. A batch without a relevant pair is no error: its
    loss has no gradient, or that of the quantisation alone.
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
        """As of all supervision; 1 for the same class."""
        return alike(self.labels[rows], self.labels if columns is None else self.labels[columns])


class ByDistance(Supervision):
    """By the Euclidean distance of features, as ``relevance``, that of the training examples to each other, has it.

    In float64, by a matrix product: a pair whose distance is within rounding of a threshold may fall on its other
    side, unlike in scoring. All features are held, float64[n, f].
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
        """As of all supervision; that of the nearest threshold a distance does not pass."""
        others = self.features if columns is None else self.features[columns]
        distance = torch.cdist(self.features[rows], others, compute_mode="use_mm_for_euclid_dist")
        return self.values[torch.bucketize(distance, self.thresholds)]


def supervision_of(data: TrainingData) -> Supervision:
    """That of the examples which a method is given: by distance where their protocol goes by it."""
    return ByLabel(torch.from_numpy(data.labels)) if data.relevance is None else ByDistance(data.relevance)


def alike(labels: Tensor, others: Tensor | None = None) -> Tensor:
    """Relevance levels int64[M, N]: agreement of class ids [M] and [N], or the shared labels of multi-hot ones.

    Without ``others`` the items are compared with each other. A negative id is no class: such an item is similar to
    nothing, not even to itself.
    """
    others = labels if others is None else others
    if labels.ndim == 1:
        return ((labels[:, None] == others[None, :]) & (labels[:, None] >= 0)).long()
    # float32 products are exact for counts below 2^24, and integers have no matrix product on a GPU
    return (labels.float() @ others.float().T).long()
