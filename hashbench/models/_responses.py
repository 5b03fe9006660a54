"""The kernel responses of an item: a layer without learned weights, whose anchors are random training examples."""

import torch
from torch import Tensor, nn

from hashbench.foundation.errors import HashbenchError

_BLOCK = 1000  # training examples whose responses are summed at a time


class KernelResponses(nn.Module):
    """Inputs [n, ...] -> exp(-||x - a||^2 / (2 bandwidth)) - mean, [n, n_anchors], one column for each anchor a.

    As in KSH (Liu et al. 2012), ``bandwidth`` is the mean squared distance of the training examples to the anchors, and
    ``mean`` is the mean response of the training examples, so that the columns are centred.
    """

    anchors: Tensor
    bandwidth: Tensor
    mean: Tensor

    def __init__(self, n_values: int, n_anchors: int) -> None:
        super().__init__()
        self.register_buffer("anchors", torch.zeros(n_anchors, n_values))
        self.register_buffer("bandwidth", torch.ones(()))
        self.register_buffer("mean", torch.zeros(n_anchors))

    def fit(self, inputs: Tensor) -> None:
        """Sets anchors, bandwidth and mean from the training examples ``inputs`` [n, ...].

        The anchors are drawn by torch's global generator. Raises HashbenchError if there are fewer examples than
        anchors, or if all examples are equal.
        """
        flat = inputs.flatten(1)
        if len(flat) < len(self.anchors):
            raise HashbenchError(f"{len(self.anchors)} anchors from {len(flat)} training examples: at most as many")
        self.anchors.copy_(flat[torch.randperm(len(flat))[: len(self.anchors)]])
        blocks = torch.split(flat, _BLOCK)
        total = sum(float(self._squared_distances(block).double().sum()) for block in blocks)
        if total == 0:
            raise HashbenchError("all training examples are equal: their distances give no bandwidth")
        self.bandwidth.fill_(total / len(flat) / len(self.anchors))
        means = torch.stack([self._responses(block).double().sum(dim=0) for block in blocks])
        self.mean.copy_(means.sum(dim=0) / len(flat))

    def forward(self, inputs: Tensor) -> Tensor:
        """Centred responses float32[n, n_anchors]; in float32 under autocast too, for they are differences."""
        with torch.autocast(inputs.device.type, enabled=False):
            return self._responses(inputs.flatten(1).to(self.anchors.dtype)) - self.mean

    def _responses(self, inputs: Tensor) -> Tensor:
        return torch.exp(self._squared_distances(inputs) / (-2 * self.bandwidth))

    def _squared_distances(self, inputs: Tensor) -> Tensor:
        """Squared Euclidean distances [n, n_anchors], never below 0."""
        products = inputs @ self.anchors.T
        squares = inputs.square().sum(dim=1)[:, None] + self.anchors.square().sum(dim=1)
        return (squares - 2 * products).clamp_min(0)
