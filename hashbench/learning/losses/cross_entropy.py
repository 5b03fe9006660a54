"""The objective of a classifier: cross-entropy with label smoothing (Szegedy et al. 2016, section 7)."""

import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.losses._objective import RowObjective


class CrossEntropy(RowObjective):
    """The mean over the batch of -sum_c q_c log p_c, where p is the softmax of the activations [M, classes].

    q is (1 - smoothing) at the class of the example plus smoothing / classes at every class. ``labels`` [n] are the
    class ids of all training examples, 0 .. classes - 1 (else HashbenchError); they are not part of the state.
    """

    labels: Tensor

    def __init__(self, labels: ArrayLike, classes: int, smoothing: float) -> None:
        super().__init__()
        labels = torch.as_tensor(labels)
        if labels.ndim != 1 or int(labels.min()) < 0 or int(labels.max()) >= classes:
            raise HashbenchError(f"a classifier needs one class of 0 to {classes - 1} for each training example")
        self.smoothing = smoothing
        self.register_buffer("labels", labels, persistent=False)

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise."""
        return functional.cross_entropy(activations, self.labels[rows].long(), label_smoothing=self.smoothing)
