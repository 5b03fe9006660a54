"""Modules that import PyTorch, each imported at its first use, so that the catalogue of models is read without it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any


class Lazy:
    """A module that is imported when something in it is looked up."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    from torch import nn

    from hashbench.models import _layers as layers
else:
    nn = Lazy("torch.nn")
    layers = Lazy("hashbench.models._layers")

__all__ = ["Lazy", "layers", "nn"]
