"""The memory of objectives that pair a minibatch with all training examples."""

import torch
from torch import Tensor

from hashbench.losses._objective import RowObjective


class Memory(RowObjective):
    """The outputs [n, bits] of all training examples, each as it was when last computed, and 0 before that.

    No gradient passes through the memory, which is part of the module's state and so of a checkpoint.
    """

    outputs: Tensor
    labels: Tensor

    def __init__(self, labels: Tensor, bits: int) -> None:
        super().__init__()
        self.register_buffer("labels", labels, persistent=False)
        self.register_buffer("outputs", torch.zeros(len(labels), bits))

    def remember(self, rows: Tensor, activations: Tensor) -> None:
        """Puts ``activations`` [M, bits] in the place of what was known of ``rows`` [M]."""
        self.outputs[rows] = activations.detach().to(self.outputs.dtype)

    def shares_label(self, rows: Tensor) -> Tensor:
        """Whether each example of ``rows`` has the class, or one of the labels, of each training example: bool[M, n].

        An example has all its own labels; a negative class is none.
        """
        given = self.labels[rows]
        if self.labels.ndim == 1:
            return (given[:, None] == self.labels) & (given[:, None] >= 0)
        return given.float() @ self.labels.float().T > 0
