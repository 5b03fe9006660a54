"""Augmented copies of training images: their features are computed once, and a training draws one copy an epoch.

A copy is a square of 75 to 100% of the image's shorter side, flipped with probability 1/2 and resized to the network's
input. Each is drawn by its item and its number, so that all protocols and seeds have the same copies of an item.
"""

import hashlib
from dataclasses import dataclass
from math import ceil
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hashbench.foundation.config import derive_seed
from hashbench.foundation.errors import HashbenchError
from hashbench.learning.models import layers
from hashbench.learning.training.settings import N_SHOWN
from hashbench.running.features._catalogue import FeatureModule
from hashbench.running.features._network import Network

SMALLEST = 0.75  # of the shorter side
SEED = derive_seed("copies")


@dataclass(frozen=True, eq=False)
class Copies:
    """``number`` copies of the items ``ids`` of a data set; row number x c + i is copy c of item ids[i]."""

    number: int
    ids: NDArray[np.int64]

    @property
    def rows(self) -> NDArray[np.int64]:
        """The number of each row."""
        return np.arange(self.number * len(self.ids))

    @property
    def name(self) -> str:
        """The end of the name of the features."""
        return f"copies{self.number}_{self.sha256[:N_SHOWN]}"

    @property
    def sha256(self) -> str:
        """The checksum of the ids."""
        return hashlib.sha256(np.ascontiguousarray(self.ids, "<i8").data).hexdigest()

    def module(self, built: FeatureModule, items: NDArray[Any]) -> FeatureModule:
        """The module that maps rows [n] to the features of these copies, by the network of ``built``."""
        if not isinstance(built.module, Network) or not isinstance(built.module.prepared, layers.Preprocessor):
            raise HashbenchError("copies are for features of an ImageNet-pretrained network: copies = 0")
        constants = {**built.constants, "copies": self.number, "ids_sha256": self.sha256, "smallest": SMALLEST}
        module = _NetworkOfCopies(built.module.prepared, built.module.backbone, self, items)
        return FeatureModule(module, built.width, constants, built.stored)


def square(item: int, copy: int, height: int, width: int) -> tuple[int, int, int, bool]:
    """Top, left and side of the square of an image, and whether it is flipped."""
    drawn = np.random.default_rng((SEED, item, copy))
    shorter = min(height, width)
    side = int(drawn.integers(ceil(SMALLEST * shorter), shorter + 1))
    top = int(drawn.integers(height - side + 1))
    left = int(drawn.integers(width - side + 1))
    return top, left, side, bool(drawn.integers(2))


class _NetworkOfCopies(nn.Module):
    def __init__(self, prepared: layers.Preprocessor, backbone: nn.Module, copies: Copies, items: NDArray[Any]) -> None:
        super().__init__()
        self.prepared = prepared
        self.backbone = backbone
        self.copies = copies
        self.items = items

    def forward(self, rows: Tensor) -> Tensor:
        numbers = rows.cpu().numpy()
        ids = self.copies.ids[numbers % len(self.copies.ids)]
        images = torch.from_numpy(self.items[ids]).to(rows.device)
        height, width = images.shape[1:3]
        copies = zip(ids, numbers // len(self.copies.ids), strict=True)
        squares = [square(item, copy, height, width) for item, copy in copies]
        inputs = self.prepared.of_squares(images, [(top, left, side) for top, left, side, _ in squares])
        is_flipped = torch.tensor([flipped for *_, flipped in squares], device=rows.device)[:, None, None, None]
        inputs = torch.where(is_flipped, inputs.flip(3), inputs).contiguous(memory_format=torch.channels_last)
        return cast("Tensor", self.backbone(inputs))
