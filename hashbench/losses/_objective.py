"""The types of objectives: functions of one batch, or modules that also know which training examples are in it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from hashbench.losses._supervision import Supervision

BatchLoss = Callable[[Tensor, Tensor], Tensor]  # (relaxed [M, bits], levels [M, M]) -> scalar


class RowObjective(nn.Module):
    """An objective over the training examples of a batch: ``forward(activations, rows, generator)`` is to be minimised.

    ``activations`` [M, bits] are the relaxed codes of the training examples ``rows`` [M]. Random numbers are drawn from
    ``generator``. The module's buffers move to the device with it, and its state is part of a checkpoint.
    """

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The scalar to minimise."""
        raise NotImplementedError


Objective = BatchLoss | RowObjective


def as_row_objective(objective: Objective, supervision: Supervision) -> RowObjective:
    """``objective`` as a RowObjective, which the training loop needs; ``supervision`` gives the levels of a batch."""
    return objective if isinstance(objective, RowObjective) else BatchObjective(objective, supervision)


class BatchObjective(RowObjective):
    """A ``loss`` of one batch: each example of the batch is a query, the others are its database."""

    def __init__(self, loss: BatchLoss, supervision: Supervision) -> None:
        super().__init__()
        self.loss, self.supervision = loss, supervision

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise; it draws no random numbers."""
        return self.loss(activations, self.supervision.levels(rows, rows))


class OutputMemory(RowObjective):
    """An objective that stores the last output of each training example, ``outputs`` [n, bits]; at first they are 0.

    A batch is compared with them. They have no gradient, and are part of the module's state, so of a checkpoint.
    """

    outputs: Tensor

    def __init__(self, supervision: Supervision, bits: int) -> None:
        super().__init__()
        self.supervision = supervision
        self.register_buffer("outputs", torch.zeros(supervision.n_examples, bits))

    def remember(self, rows: Tensor, activations: Tensor) -> None:
        """Stores ``activations`` [M, bits] as the outputs of the training examples ``rows`` [M]."""
        self.outputs[rows] = activations.detach().to(self.outputs.dtype)
