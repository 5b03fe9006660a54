"""Modules that import PyTorch, each imported at its first use, so that the catalogue of models is read without it."""

from typing import TYPE_CHECKING

from hashbench.foundation.lazy import Lazy

if TYPE_CHECKING:
    from torch import nn
    from torchvision import models as torchvision_models

    from hashbench.learning.models import _layers as layers
else:
    nn = Lazy("torch.nn")
    layers = Lazy("hashbench.learning.models._layers")
    torchvision_models = Lazy("torchvision.models")

__all__ = ["layers", "nn", "torchvision_models"]
