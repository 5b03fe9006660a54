"""The module that flattens items into rows of float32."""

import torch
from torch import Tensor, nn


class Pixels(nn.Module):
    """Flattens each item into one row."""

    def forward(self, items: Tensor) -> Tensor:
        """float32 [n, values of an item] of items [n, ...]."""
        return items.reshape(len(items), -1).to(torch.float32)
