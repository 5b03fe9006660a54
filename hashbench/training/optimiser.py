"""SGD as the papers' frameworks have it, the rate inside the velocity or outside, and Adam; rates, decay by layer."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from hashbench.training.settings import TrainingSettings


def build(settings: TrainingSettings, encoder: nn.Module) -> torch.optim.Optimizer:
    """The optimiser of the weights and biases of the backbone and of the hash layer, each with its own multiplier.

    Of SGD, decay joins the gradient g before the velocity v, v <- momentum v + g, and a weight moves by - lr v: that
    is MatConvNet's update and torch's. In Caffe's the rate is inside, v <- momentum v + lr g, and a weight moves by
    - v; ``set_learning_rate`` makes the difference, which exists only where the rate changes. Of Adam, with its usual
    moments (0.9, 0.999), decay joins the gradient too, and so the moments.
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
    """Gives every group its learning rate; with Caffe's velocity, what is on its way keeps the rate it started with."""
    for group in optimiser.param_groups:
        before, group["lr"] = group["lr"], lr * group["lr_multiplier"]
        if settings.momentum_form == "lr_inside" and before > 0 and group["lr"] not in (0, before):
            for values in group["params"]:
                velocity = optimiser.state[values].get("momentum_buffer")
                if velocity is not None:
                    velocity.mul_(before / group["lr"])
