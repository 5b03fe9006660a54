"""The type of objectives that need to know which training examples are in the batch."""

import torch
from torch import Tensor, nn


class RowObjective(nn.Module):
    """An objective over the training examples of a batch: ``forward(activations, rows, generator)`` is to be minimised.

    ``activations`` [M, bits] are the relaxed codes of the training examples ``rows`` [M]. Random numbers are drawn from
    ``generator``. The module's buffers move to the device with it, and its state is part of a checkpoint.
    """

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The scalar to minimise."""
        raise NotImplementedError
