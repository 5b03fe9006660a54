"""Objectives: functions of the codes and levels of a batch, or modules that also get the batch's row numbers."""

from collections.abc import Callable

import torch
from torch import Tensor

from hashbench.losses import RowObjective, Supervision

BatchObjective = Callable[[Tensor, Tensor], Tensor]  # (relaxed [M, bits], levels [M, M]) -> scalar
Objective = BatchObjective | RowObjective


def as_row_objective(objective: Objective, supervision: Supervision) -> RowObjective:
    """``objective`` as a RowObjective, which the training loop needs; ``supervision`` gives the levels of a batch."""
    return objective if isinstance(objective, RowObjective) else BatchObjectiveAdapter(objective, supervision)


class BatchObjectiveAdapter(RowObjective):
    """A RowObjective made from a BatchObjective: each example of a batch is a query, the others are its database."""

    def __init__(self, objective: BatchObjective, supervision: Supervision) -> None:
        super().__init__()
        self.objective, self.supervision = objective, supervision

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise; it draws no random numbers."""
        return self.objective(activations, self.supervision.levels(rows, rows))
