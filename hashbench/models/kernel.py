"""The kernel encoder: the hash layer on the responses of an item to random training examples, the anchors (KSH)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hashbench.models._model import Model

if TYPE_CHECKING:
    from torch import nn

ANCHORS = 300  # as in the released code of KSH


def _backbone(shape: tuple[int, ...], width: float = 1.0) -> tuple[nn.Module, int]:
    """The layer of responses and its number of anchors, ``width`` times ANCHORS."""
    from hashbench.models._responses import KernelResponses

    n_anchors = max(1, round(width * ANCHORS))
    return KernelResponses(math.prod(shape), n_anchors), n_anchors


MODEL = Model(f"RBF kernel, {ANCHORS} anchors: kernel hash functions", _backbone, scaled=_backbone)
