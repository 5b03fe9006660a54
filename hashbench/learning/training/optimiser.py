"""The optimisers, and what changes with the step: the learning rate and the scale alpha of tanh."""

import math
from typing import Any

import torch
from torch import nn

from hashbench.learning.training.settings import TrainingSettings

# one_cycle: as torch.optim.lr_scheduler.OneCycleLR has them by default
RISE = 0.3
START = 25.0
END = 1e4


def build(settings: TrainingSettings, encoder: nn.Module, objective: nn.Module | None = None) -> torch.optim.Optimizer:
    """The optimiser of four groups: weights and biases of the backbone and of the hash layer, each with its own rate.

    Batch normalisation after the hash layer belongs to that. If the ``objective`` has parameters, its weights and
    biases are two more groups, with objective_lr times the rate of the hash layer.

    SGD in MatConvNet and PyTorch: v <- momentum v + g, w <- w - lr v, where the gradient g includes the weight decay.
    In Caffe: v <- momentum v + lr g, w <- w - v, which differs when lr changes, see ``set_learning_rate``.
    """
    backbone, *hash_layers = encoder.children()
    decay = settings.weight_decay
    hash_decay = settings.hash_weight_decay
    if hash_decay is None:
        hash_decay = decay
    groups: list[dict[str, Any]] = []
    parts = [
        (backbone, settings.backbone_lr, settings.bias_lr, decay),
        (nn.ModuleList(hash_layers), 1.0, settings.hash_bias_lr, hash_decay),
    ]
    if objective is not None:
        parts.append((objective, settings.objective_lr, settings.hash_bias_lr, hash_decay))
    for module, rate, bias_rate, weight_decay in parts:
        named = list(module.named_parameters())
        weights = [values for name, values in named if name.rpartition(".")[2] != "bias"]
        biases = [values for name, values in named if name.rpartition(".")[2] == "bias"]
        bias_decay = 0.0
        if settings.decay_biases:
            bias_decay = weight_decay
        groups.append({"params": weights, "lr_multiplier": rate, "weight_decay": weight_decay})
        groups.append({"params": biases, "lr_multiplier": rate * bias_rate, "weight_decay": bias_decay})
    trained = [group for group in groups if group["params"]]
    # one kernel for a group of weights, where a GPU has them; a CPU sums in the order of the stored rows
    fused = None
    if all(weight.is_cuda for group in trained for weight in group["params"]):
        fused = True
    if settings.optimiser == "adam":
        return torch.optim.Adam(trained, lr=settings.lr, fused=fused)
    return torch.optim.SGD(trained, lr=settings.lr, momentum=settings.momentum, nesterov=settings.nesterov, fused=fused)


def set_learning_rate(optimiser: torch.optim.Optimizer, settings: TrainingSettings, lr: float) -> None:
    """Sets the learning rate of every group; "lr_inside" rescales the velocity: old gradients keep their old rate."""
    for group in optimiser.param_groups:
        before = group["lr"]
        group["lr"] = lr * group["lr_multiplier"]
        if settings.momentum_form == "lr_inside" and before > 0 and group["lr"] not in (0, before):
            for values in group["params"]:
                velocity = optimiser.state[values].get("momentum_buffer")
                if velocity is not None:
                    velocity.mul_(before / group["lr"])


def learning_rate(settings: TrainingSettings, epoch: int, step: int = 0, n_steps: int = 1) -> float:
    """The learning rate of ``epoch`` and ``step`` (both from 0, the step over all epochs) of ``n_steps``.

    Let t be the epoch or the step, as ``lr_unit`` says, and n = lr_decay_every. The schedule ``step`` is
    lr lr_decay^(t // n), constant if n = 0; ``one_cycle`` depends on the step alone: see the function of that name.
    """
    if settings.lr_schedule == "one_cycle":
        return one_cycle(settings.lr, step, n_steps)
    now = epoch if settings.lr_unit == "epoch" else step
    every = settings.lr_decay_every
    if not every:
        return settings.lr
    return settings.lr * settings.lr_decay ** (now // every)


def one_cycle(peak: float, step: int, n_steps: int) -> float:
    """The rate of ``step`` in a training of ``n_steps``: one rise and one fall, by cosines (Smith and Topin 2019)."""
    top = RISE * n_steps - 1
    if step <= top:
        first = peak / START
        last = peak
        part = step / top
    else:
        first = peak
        last = peak / START / END
        part = (step - top) / (n_steps - 1 - top)
    return last + (first - last) * (1 + math.cos(math.pi * part)) / 2


def tanh_scale(settings: TrainingSettings, epoch: int, step: int) -> float:
    """The scale alpha of tanh(alpha f(x)) at ``step`` (from 0, over all epochs).

    ``power`` is HashNet's continuation, alpha sqrt(1 + rate s), where s is the step rounded down to a multiple of
    tanh_every. ``doubling`` is alpha 2^(epoch // rate), as in TALR's released code (appendix D of the paper).
    """
    match settings.tanh_schedule:
        case "fixed":
            return settings.tanh_scale
        case "power":
            return settings.tanh_scale * math.sqrt(1 + settings.tanh_rate * (step - step % settings.tanh_every))
        case "doubling":
            # the released code doubles without end; beyond 2^20 tanh(alpha x) is the sign of x in any arithmetic
            return settings.tanh_scale * 2.0 ** min(20, epoch // int(settings.tanh_rate))
