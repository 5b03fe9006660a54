"""What is minimised: a function of a batch's relaxed codes and levels, or one that knows which examples stand in it."""

from collections.abc import Callable

import torch
from torch import Tensor

from hashbench.losses import RowObjective, Supervision

BatchObjective = Callable[[Tensor, Tensor], Tensor]  # (relaxed [M, bits], levels [M, M]) -> scalar
Objective = BatchObjective | RowObjective


def by_rows(objective: Objective, supervision: Supervision) -> RowObjective:
    """``objective`` as the training loop asks for it, the levels of a batch being those of ``supervision``."""
    return objective if isinstance(objective, RowObjective) else OfBatch(objective, supervision)


class OfBatch(RowObjective):
    """An objective of a batch alone, each example being a query and the others its database."""

    def __init__(self, objective: BatchObjective, supervision: Supervision) -> None:
        super().__init__()
        self.objective, self.supervision = objective, supervision

    def forward(self, activations: Tensor, rows: Tensor, draws: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise; nothing is drawn."""
        return self.objective(activations, self.supervision.levels(rows, rows))
