"""What an objective is that has to know which training examples stand in the batch."""

import torch
from torch import Tensor, nn


class RowObjective(nn.Module):
    """An objective over the training examples of a batch: ``forward(activations, rows, draws)`` is to be minimised.

    ``activations`` [M, bits] are the relaxed codes of the training examples ``rows`` [M]; what is random is drawn from
    ``draws``. Its buffers go to the device with it; what its state holds is part of a checkpoint.
    """

    def forward(self, activations: Tensor, rows: Tensor, draws: torch.Generator) -> Tensor:
        """The scalar to minimise."""
        raise NotImplementedError
