"""The objectives of jeong2018efficient: the metric objective of the base, then the gated objective on flow codes."""

from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.losses import RowObjective, gated, metric_learning
from hashbench.learning.sparse.flow import assign

Base = Literal["triplet", "npairs"]
Variant = Literal["paper", "released"]


class _InRounds(RowObjective):
    """An objective on batches in rounds, each of one example of each of n_c classes in the same order."""

    labels: Tensor

    def __init__(self, labels: ArrayLike, base: Base, *, margin: float, l2: float) -> None:
        super().__init__()
        labels = torch.as_tensor(labels)
        if labels.ndim != 1 or labels.is_floating_point() or not bool((labels >= 0).all()):
            fault = "some items have no class"
            if labels.ndim != 1:
                fault = "these items have several labels"
            raise HashbenchError(f"{base} compares examples by class, one each, and {fault}")
        self.base = base
        self.margin = margin
        self.l2 = l2
        self.n_classes = 0  # in a batch: found in the first one, and the same in all that a sampler draws in rounds
        self.register_buffer("labels", labels, persistent=False)

    def rounds_of(self, rows: Tensor) -> int:
        """The number of classes in a batch; only the first batch is looked at: that makes a GPU wait."""
        if self.n_classes == 0:
            classes = self.labels[rows].cpu().numpy()
            n_classes = len(np.unique(classes))
            n_rounds, rest = divmod(len(classes), n_classes)
            is_in_rounds = rest == 0 and (classes.reshape(n_rounds, -1) == classes[:n_classes]).all()
            if n_classes < 2 or n_rounds < 2 or not is_in_rounds or (self.base == "npairs" and n_rounds > 2):
                fault = f"a batch of {len(classes)} examples of {n_classes} classes"
                needed = "rounds of two classes or more are expected, two rounds of pairs and two or more of triplets"
                raise HashbenchError(f"{self.base}: {fault}: {needed}: see classes_per_batch")
            self.n_classes = n_classes
        return self.n_classes


class MetricObjective(_InRounds):
    """The objective of the base stage: ``metric_learning.triplet`` or ``.npairs`` of a batch in rounds."""

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, float64; it draws no random numbers."""
        self.rounds_of(rows)
        if self.base == "npairs":
            return metric_learning.npairs(activations, l2=self.l2)
        return metric_learning.triplet(activations, self.labels[rows], margin=self.margin)


class HashObjective(_InRounds):
    """The objective of the hash stage [algorithm 1]: a flow assigns codes to the classes for the gated loss.

    From the class means (of unit vectors for "triplet") ``sparse.flow.assign`` computes a code of ``k`` bits for each
    class, on the CPU; it has no gradient. The loss is ``gated.triplet`` or, of the ``variant``, ``gated.npairs`` or
    ``.npairs_as_released``. ``lam`` is the lambda of eq. 5, the price that each of two classes pays for a bucket they
    share: the r-th unit of flow costs 2 lambda r in the paper, and plamb r in the released code.
    """

    uses_cpu = True

    def __init__(
        self, labels: ArrayLike, base: Base, *, k: int, lam: float, variant: Variant, margin: float, l2: float
    ) -> None:
        super().__init__(labels, base, margin=margin, l2=l2)
        self.k = k
        self.lam = lam
        self.variant = variant

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, float64; it draws no random numbers."""
        n_classes = self.rounds_of(rows)
        buckets = self.buckets(activations, n_classes).repeat(len(rows) // n_classes, 1)
        if self.base == "npairs":
            npairs = gated.npairs if self.variant == "paper" else gated.npairs_as_released
            return npairs(activations, buckets, l2=self.l2)
        return gated.triplet(activations, self.labels[rows], buckets, margin=self.margin)

    def buckets(self, activations: Tensor, n_classes: int) -> Tensor:
        """The set bits of the code of each class in the batch, int64[n_c, k], in the order of the first round."""
        of_items = activations.detach()
        if self.base == "triplet":
            of_items = metric_learning.unit_norm(of_items)
        else:
            of_items = of_items.double()
        means = of_items.reshape(-1, n_classes, of_items.shape[1]).mean(0)
        codes = assign(means.cpu().numpy(), self.k, self.lam)
        return torch.from_numpy(np.nonzero(codes)[1]).view(n_classes, self.k).to(activations.device)
