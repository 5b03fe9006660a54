"""The optimisers: Adam, and SGD with momentum as in MatConvNet and PyTorch or as in Caffe; rates and decay by layer."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from hashbench.training.settings import TrainingSettings


def build(settings: TrainingSettings, encoder: nn.Module) -> torch.optim.Optimizer:
    """The optimiser of four groups: weights and biases of the backbone and of the hash layer, each with its own rate.

    SGD in MatConvNet and PyTorch: v <- momentum v + g, w <- w - lr v, where the gradient g includes the weight decay.
    SGD in Caffe: v <- momentum v + lr g, w <- w - v. The two differ only when lr changes, and ``set_learning_rate``
    applies the difference. Adam has its usual moments (0.9, 0.999); weight decay is added to the gradient here too, so
    it enters the moments.
    """
    backbone, hash_layer = encoder.children()
    decay = settings.weight_decay
    hash_decay = decay if settings.hash_weight_decay is None else settings.hash_weight_decay
    groups = [
        *_groups(backbone, settings, settings.backbone_lr, settings.bias_lr, decay),
        *_groups(hash_layer, settings, 1.0, settings.hash_bias_lr, hash_decay),
    ]
    trained = [group for group in groups if group["params"]]
    if settings.optimiser == "adam":
        return torch.optim.Adam(trained, lr=settings.lr)
    return torch.optim.SGD(trained, lr=settings.lr, momentum=settings.momentum, nesterov=settings.nesterov)


def _groups(
    layers: nn.Module, settings: TrainingSettings, rate: float, bias_rate: float, decay: float
) -> Iterator[dict[str, Any]]:
    named = list(layers.named_parameters())
    for biases in (False, True):
        yield {
            "params": [values for name, values in named if (name.rpartition(".")[2] == "bias") == biases],
            "lr_multiplier": rate * bias_rate if biases else rate,
            "weight_decay": decay if settings.decay_biases or not biases else 0.0,
        }


def set_learning_rate(optimiser: torch.optim.Optimizer, settings: TrainingSettings, lr: float) -> None:
    """Sets the learning rate of every group.

    With ``momentum_form`` "lr_inside" (Caffe) the velocity is rescaled, so that its old gradients keep their old rate.
    """
    for group in optimiser.param_groups:
        before, group["lr"] = group["lr"], lr * group["lr_multiplier"]
        if settings.momentum_form == "lr_inside" and before > 0 and group["lr"] not in (0, before):
            for values in group["params"]:
                velocity = optimiser.state[values].get("momentum_buffer")
                if velocity is not None:
                    velocity.mul_(before / group["lr"])
