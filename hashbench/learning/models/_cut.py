"""A network cut in two at one of its layers: NAME_before_LAYER computes what NAME_from_LAYER takes.

The activations between the two parts are stored once, as features of the first part. So the last layers can be trained
without the cost of the others, which stay as they are.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from math import prod

from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.learning.models._lazy import layers, nn
from hashbench.learning.models._model import Backbone, Model

_NAME = re.compile(r"(.+)_(before|from)_([a-z0-9]+)")


def parts(name: str) -> tuple[str, str | None, str]:
    """The whole network, ``before`` or ``from``, and the layer in the canonical name of a model; None: it is whole.

    >>> parts("efficientnet_lite0_128px_from_block11"), parts("vggf")
    (('efficientnet_lite0_128px', 'from', 'block11'), ('vggf', None, ''))
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return name, None, ""
    return match[1], match[2], match[3]


def cut(model: Model, whole: str, part: str, layer: str) -> Model:
    """The part of ``model``, which is called ``whole``, ``before`` or ``from`` the layer called ``layer``."""
    if model.pretrained is None:
        raise HashbenchError(f"{whole} has not seen ImageNet: there is no part of it that could stay as it is")
    if part == "before":
        summary = f"what {whole} computes before its layer {layer}, stored in float16"
        return replace(model, summary=summary, backbone=partial(_before, model, whole, layer), stored="float16")
    takes = f"{whole}_before_{layer}"
    summary = f"{whole} from its layer {layer} on; it takes the features {takes}"
    return replace(model, summary=summary, backbone=partial(_following, model, whole, layer), takes=takes)


def _before(model: Model, whole: str, layer: str, shape: tuple[int, ...]) -> Backbone:
    first, _, between, _ = _halves(model, whole, layer, shape)
    return nn.Sequential(OrderedDict(first | {"flat": nn.Flatten()})), prod(between)


def _following(model: Model, whole: str, layer: str, shape: tuple[int, ...]) -> Backbone:
    assert model.pretrained is not None
    _, last, between, width = _halves(model, whole, layer, (3, *model.pretrained.input.size))
    if shape != (prod(between),):
        taken = f"the {prod(between):,} activations before it, the features {whole}_before_{layer}"
        raise HashbenchError(f"{whole} from {layer} on takes {taken}, not items of shape {shape}")
    unflat: dict[str, nn.Module] = {"unflat": nn.Unflatten(1, between)}
    return layers.FrozenStatistics(OrderedDict(unflat | last)), width


def _halves(
    model: Model, whole: str, layer: str, shape: tuple[int, ...]
) -> tuple[dict[str, nn.Module], dict[str, nn.Module], tuple[int, ...], int]:
    """The layers before ``layer`` and from it on, by name, the shape of an item between them, and the features."""
    backbone, width = model.backbone(shape)
    if type(backbone) is not nn.Sequential:
        raise HashbenchError(f"{whole} is not one chain of layers: it cannot be cut at {layer}")
    children = dict(backbone.named_children())
    names = list(children)
    if layer not in names[1:]:
        raise unknown(f"layer of {whole} at which it can be cut", layer, names[1:])
    place = names.index(layer)
    between = layers.shape_of_answer(backbone[:place], shape)
    return {key: children[key] for key in names[:place]}, {key: children[key] for key in names[place:]}, between, width
