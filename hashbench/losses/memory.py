"""The base class of objectives that compare a minibatch with the last outputs of all training examples."""

import torch
from torch import Tensor

from hashbench.losses._objective import RowObjective
from hashbench.losses._supervision import Supervision


class OutputMemory(RowObjective):
    """An objective that stores the last output of each training example, ``outputs`` [n, bits]; at first they are 0.

    The stored outputs have no gradient. They are part of the module's state, and so of a checkpoint.
    """

    outputs: Tensor

    def __init__(self, supervision: Supervision, bits: int) -> None:
        super().__init__()
        self.supervision = supervision
        self.register_buffer("outputs", torch.zeros(supervision.n_examples, bits))

    def remember(self, rows: Tensor, activations: Tensor) -> None:
        """Stores ``activations`` [M, bits] as the outputs of the training examples ``rows`` [M]."""
        self.outputs[rows] = activations.detach().to(self.outputs.dtype)
