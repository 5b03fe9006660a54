"""The kernel encoder: the hash layer on the responses of an item to random training examples, the anchors (KSH)."""

import math

from hashbench.learning.models._lazy import layers
from hashbench.learning.models._model import Backbone, Model

ANCHORS = 300  # as in the released code of KSH


def _backbone(shape: tuple[int, ...], width: float = 1.0) -> Backbone:
    """The layer of responses and its number of anchors, ``width`` times ANCHORS."""
    n_anchors = max(1, round(width * ANCHORS))
    return layers.KernelResponses(math.prod(shape), n_anchors), n_anchors


MODEL = Model(f"RBF kernel, {ANCHORS} anchors: kernel hash functions", _backbone, scaled=_backbone)
