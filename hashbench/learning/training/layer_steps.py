"""Layers of small encoders as steps of NumPy, so that they encode without PyTorch."""

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor, nn

from hashbench.learning.models import layers
from hashbench.learning.steps import (
    Step,
    Steps,
    add,
    channels_first,
    divide,
    exponential,
    flatten,
    multiply,
    positive_part,
    project,
    squared_distances,
    subtract,
    unit_norm,
)
from hashbench.learning.training.inputs import (
    ChannelNormalisation,
    ChannelUnitNormalisation,
    MeanSubtraction,
    UnitNormalisation,
)


def steps_of(module: nn.Module) -> Steps | None:
    """The steps of a ``module`` in evaluation, in float32; None if one of its layers has none."""
    steps: list[Step] = []
    for layer in _in_order(module):
        steps_of_layer = _STEPS_OF.get(type(layer))
        if steps_of_layer is None:
            return None
        steps += steps_of_layer(layer)
    return Steps(steps, "float32")


def _in_order(module: nn.Module) -> list[nn.Module]:
    """The layers of a module, which are applied one after the other."""
    if type(module) is not nn.Sequential:
        return [module]
    return [layer for part in module for layer in _in_order(part)]


def _by(operation: Callable[..., Any], values: Tensor | float) -> Step:
    if isinstance(values, Tensor):
        array = values.detach().cpu().numpy()
    else:
        array = np.asarray(values, np.float32)
    return Step(operation, {"by": array})


def _channel_normalisation(layer: ChannelNormalisation) -> list[Step]:
    return [_by(subtract, layer.mean), _by(divide, layer.std), Step(channels_first, {})]


def _channel_unit_normalisation(layer: ChannelUnitNormalisation) -> list[Step]:
    return [*_channel_normalisation(layer), Step(flatten, {}), Step(unit_norm, {})]


def _mean_subtraction(layer: MeanSubtraction) -> list[Step]:
    return [_by(divide, layer.value_max), _by(subtract, layer.mean), Step(channels_first, {})]


def _unit_normalisation(layer: UnitNormalisation) -> list[Step]:
    return [*_mean_subtraction(layer), Step(flatten, {}), Step(unit_norm, {})]


def _flatten(_: nn.Flatten) -> list[Step]:
    return [Step(flatten, {})]


def _linear(layer: nn.Linear) -> list[Step]:
    product = Step(project, {"weights": layer.weight.detach().cpu().numpy().T})
    return [product] if layer.bias is None else [product, _by(add, layer.bias)]


def _batch_norm(layer: nn.BatchNorm1d) -> list[Step]:
    assert layer.running_mean is not None
    assert layer.running_var is not None
    deviation = (layer.running_var + layer.eps).sqrt()
    normalised = [_by(subtract, layer.running_mean), _by(divide, deviation)]
    return [*normalised, _by(multiply, layer.weight), _by(add, layer.bias)]


def _kernel_responses(layer: layers.KernelResponses) -> list[Step]:
    distances = Step(squared_distances, {"others": layer.anchors.detach().cpu().numpy()})
    responses = [distances, _by(divide, -2 * layer.bandwidth), Step(exponential, {})]
    return [Step(flatten, {}), *responses, _by(subtract, layer.mean)]


def _relu(_: nn.ReLU) -> list[Step]:
    return [Step(positive_part, {})]


_STEPS_OF: dict[type[nn.Module], Callable[[Any], list[Step]]] = {
    ChannelNormalisation: _channel_normalisation,
    ChannelUnitNormalisation: _channel_unit_normalisation,
    MeanSubtraction: _mean_subtraction,
    UnitNormalisation: _unit_normalisation,
    layers.KernelResponses: _kernel_responses,
    nn.Flatten: _flatten,
    nn.Linear: _linear,
    nn.BatchNorm1d: _batch_norm,
    nn.ReLU: _relu,
}
