"""Encoders: one file for each architecture, which exports MODEL; networks of torchvision and timm have their names."""

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from hashbench.foundation.errors import unknown
from hashbench.foundation.lazy import Lazy
from hashbench.foundation.registry import Catalogue, canonical
from hashbench.learning.models import _cut, _timm, _torchvision
from hashbench.learning.models._input import Input
from hashbench.learning.models._lazy import layers
from hashbench.learning.models._model import RANDOM_WEIGHTS, Model, Pretrained, Weights, encoder

__all__ = [
    "MODELS",
    "RANDOM_WEIGHTS",
    "TIMM",
    "Input",
    "Model",
    "Models",
    "Pretrained",
    "Weights",
    "at_any_size",
    "canonical_model",
    "encoder",
    "layers",
    "weights",
    "whole_network",
]

if TYPE_CHECKING:
    from hashbench.learning.models import _weights as weights
else:
    weights = Lazy("hashbench.learning.models._weights")

TORCHVISION = "torchvision:"
TIMM = _timm.PREFIX


class Models(Catalogue[Model]):
    """The models of this folder, torchvision's (``torchvision:resnet18`` or ``resnet18``) and timm's (``timm:NAME``).

    A network that has seen ImageNet takes images of another size by a name that ends in the side: ``resnet18_160px``.
    A name can go on with ``_before_LAYER`` or ``_from_LAYER``, for a part of the network.
    """

    def __contains__(self, name: str) -> bool:
        """True if there is such a model."""
        whole, part, _ = _cut.parts(canonical_model(name))
        if part is not None:
            return whole in self
        unsized, side = _sized(name)
        return self._is_there(unsized) and (side is None or self.get(unsized).pretrained is not None)

    def get(self, name: str) -> Model:
        """The model called ``name``; raises HashbenchError, with similar names, if there is none."""
        whole, part, layer = _cut.parts(canonical_model(name))
        if part is not None:
            return _cut.cut(self.get(whole), whole, part, layer)
        unsized, side = _sized(name)
        if name not in self:
            raise unknown(self.kind, name, self.like(unsized))
        if super().__contains__(unsized):
            model = super().get(unsized)
        elif unsized.startswith(TIMM):
            model = _timm.model(unsized)
        else:
            model = _torchvision.model(unsized)
        if side is None:
            return model
        return model.at(side)

    def of_torchvision(self) -> list[str]:
        """The names of torchvision's classifiers, which are not in ``names``: listing them takes seconds."""
        return _torchvision.names()

    def like(self, name: str) -> list[str]:
        """The names among which one similar to ``name`` is looked for: timm's, or all others."""
        if canonical_model(name).startswith(TIMM):
            return [f"{TIMM}{stem}" for stem in _timm.names()]
        return self.names + self.of_torchvision()

    def _is_there(self, name: str) -> bool:
        if super().__contains__(name):
            return True
        if name.startswith(TIMM):
            return name.removeprefix(TIMM) in _timm.names()
        return name in self.of_torchvision()


def canonical_model(name: str) -> str:
    """The name as it stands in settings and files: without ``torchvision:``, and with ``timm_`` for ``timm:``."""
    spelt = canonical(name).removeprefix(TORCHVISION)
    if spelt.startswith("timm:"):
        return spelt.replace(":", "_", 1)
    return spelt


def whole_network(name: str) -> str:
    """The name of the network of which ``name`` is a part, or the name itself."""
    return _cut.parts(canonical_model(name))[0]


@lru_cache(maxsize=10_000)
def at_any_size(name: str) -> str:
    """The name without the side of images in pixels: the same for a network at all sizes."""
    return re.sub(r"_\d+px", "", canonical_model(name))


def _sized(name: str) -> tuple[str, int | None]:
    """The model, and the side of its images in pixels, in the name of a model; None if it names no side."""
    spelt = canonical_model(name)
    match = re.fullmatch(r"(.+)_([1-9]\d{0,3})px", spelt)
    if match is None:
        return spelt, None
    return match[1], int(match[2])


MODELS = Models("model", "hashbench.learning.models", "MODEL", Model, group="hashbench.models")
