"""Encoders: one file for each architecture, which exports MODEL; torchvision's classifiers have their own names."""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import Catalogue, canonical
from hashbench.models import _torchvision
from hashbench.models._model import RANDOM_WEIGHTS, Input, Model, Pretrained, Weights, encoder

if TYPE_CHECKING:
    from hashbench.models._layers import KernelResponses, Preprocessor, resize_matrix
    from hashbench.models._weights import WeightsFile, fill, identify, load_tensors, read_safetensors

_MODULE_OF = dict.fromkeys(("KernelResponses", "Preprocessor", "resize_matrix"), "_layers")
_MODULE_OF |= dict.fromkeys(("WeightsFile", "fill", "identify", "load_tensors", "read_safetensors"), "_weights")

__all__ = ["MODELS", "RANDOM_WEIGHTS", "TORCHVISION", "Input", "KernelResponses", "Model", "Models", "Preprocessor"]
__all__ += ["Pretrained", "Weights", "WeightsFile", "encoder", "fill", "identify", "load_tensors", "read_safetensors"]
__all__ += ["resize_matrix"]

TORCHVISION = "torchvision:"
MOST_PIXELS = 1024  # the side of an image


def __getattr__(name: str) -> Any:
    """Imports on first access the names whose modules import torch, so that this package does not import it."""
    if name in _MODULE_OF:
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Models(Catalogue[Model]):
    """The models of this folder and, if torchvision is installed, its: ``torchvision:resnet18`` or ``resnet18``.

    A network that has seen ImageNet takes images of another size by a name that ends in the side: ``resnet18_160px``.
    """

    def __contains__(self, name: str) -> bool:
        """Whether there is such a model; HashbenchError for a side that is out of range."""
        stem, side = _sized(name)
        return self._is_there(stem) and (side is None or self.get(stem).pretrained is not None)

    def get(self, name: str) -> Model:
        """The model called ``name``; raises HashbenchError, with similar names, if there is none."""
        stem, side = _sized(name)
        if not self._is_there(stem):
            raise unknown(self.kind, name, self.names + self.of_torchvision())
        model = super().get(stem) if super().__contains__(stem) else _torchvision.model(stem)
        return model if side is None else model.at(side, stem)

    def of_torchvision(self) -> list[str]:
        """The names of torchvision's classifiers, which are not in ``names``: listing them takes seconds."""
        return _torchvision.names()

    def _is_there(self, stem: str) -> bool:
        return super().__contains__(stem) or stem in self.of_torchvision()


def _sized(name: str) -> tuple[str, int | None]:
    """The model, and the side of its images in pixels, in the name of a model; None if it names no side."""
    stem = canonical(name).removeprefix(TORCHVISION)
    found = re.fullmatch(r"(.+)_(\d+)px", stem)
    if found is None:
        return stem, None
    side = int(found[2])
    if not 0 < side <= MOST_PIXELS:
        raise HashbenchError(f"{name}: images of {side} pixels: 1 to {MOST_PIXELS:,} are possible")
    return found[1], side


MODELS = Models("model", "hashbench.models", "MODEL", Model, group="hashbench.models")
