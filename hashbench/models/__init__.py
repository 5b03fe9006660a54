"""Encoders: one file for each architecture, which exports MODEL; torchvision's classifiers have their own names."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hashbench.foundation.errors import unknown
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


def __getattr__(name: str) -> Any:
    """Imports on first access the names whose modules import torch, so that this package does not import it."""
    if name in _MODULE_OF:
        return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Models(Catalogue[Model]):
    """The models of this folder and, if torchvision is installed, its: ``torchvision:resnet18`` or ``resnet18``."""

    def __contains__(self, name: str) -> bool:
        return super().__contains__(name) or self._of_torchvision(name) is not None

    def get(self, name: str) -> Model:
        """The model called ``name``; raises HashbenchError, with similar names, if there is none."""
        if super().__contains__(name):
            return super().get(name)
        found = self._of_torchvision(name)
        if found is None:
            raise unknown(self.kind, name, self.names + self.of_torchvision())
        return _torchvision.model(found)

    def of_torchvision(self) -> list[str]:
        """The names of torchvision's classifiers, which are not in ``names``: listing them takes seconds."""
        return _torchvision.names()

    def _of_torchvision(self, name: str) -> str | None:
        stem = canonical(name).removeprefix(TORCHVISION)
        return stem if stem in self.of_torchvision() else None


MODELS = Models("model", "hashbench.models", "MODEL", Model, group="hashbench.models")
