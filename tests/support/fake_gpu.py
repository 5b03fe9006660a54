"""Tensors that are on a GPU in name only, and what is done with tensors of the CPU meanwhile."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from hashbench.learning.training.batch import Batch


class OnTheCpu(TorchDispatchMode):
    """In its block: the operations that read or make a tensor of the CPU; a scalar is no transfer."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: set[str] = set()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = operation(*args, **(kwargs or {}))
        values, _ = tree_flatten((args, kwargs, result))
        if any(isinstance(value, Tensor) and value.device.type == "cpu" and value.ndim for value in values):
            self.operations.add(str(operation))
        return result


def fake_gpu() -> FakeTensorMode:
    """In its block tensors have no values, and a GPU may have them: reading one raises an error of torch."""
    return FakeTensorMode(allow_non_fake_inputs=True)


def move(module: nn.Module) -> None:
    """Moves the module to the fake GPU, in the block."""
    for layer in module.modules():
        for name, weight in layer._parameters.items():
            if weight is not None:
                layer._parameters[name] = nn.Parameter(_there(weight), weight.requires_grad)
        for name, buffer in layer._buffers.items():
            if buffer is not None:
                layer._buffers[name] = _there(buffer)


def moved(batch: Batch) -> Batch:
    """The batch on the fake GPU, in the block."""
    moves = batch.augmentation
    flip = None if moves.flip is None else _there(moves.flip)
    offset = None if moves.offset is None else _there(moves.offset)
    moves = replace(moves, flip=flip, offset=offset)
    alpha = torch.empty((), device="cuda")
    return replace(batch, rows=_there(batch.rows), items=_there(batch.items), augmentation=moves, tanh_scale=alpha)


def _there(values: Tensor) -> Tensor:
    return torch.empty_like(values, device="cuda")
