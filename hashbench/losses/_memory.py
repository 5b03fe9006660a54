"""The memory of objectives that pair a minibatch with all training examples."""

import torch
from torch import Tensor

from hashbench.losses._objective import RowObjective
from hashbench.losses._supervision import Supervision


class Memory(RowObjective):
    """The outputs [n, bits] of all training examples, each as it was when last computed, and 0 before that.

    No gradient passes through the memory, which is part of the module's state and so of a checkpoint.
    """

    outputs: Tensor

    def __init__(self, supervision: Supervision, bits: int) -> None:
        super().__init__()
        self.supervision = supervision
        self.register_buffer("outputs", torch.zeros(supervision.n_examples, bits))

    def remember(self, rows: Tensor, activations: Tensor) -> None:
        """Puts ``activations`` [M, bits] in the place of what was known of ``rows`` [M]."""
        self.outputs[rows] = activations.detach().to(self.outputs.dtype)
