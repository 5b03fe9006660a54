"""What changes while training: the learning rate by epoch, the scale of tanh by step."""

import math
from typing import assert_never

from hashbench.training.settings import DeepSettings


def learning_rate(settings: DeepSettings, epoch: int) -> float:
    """The learning rate of ``epoch`` (from 0): lr x lr_decay^(epoch // lr_decay_every), or constant."""
    if settings.lr_decay_every == 0:
        return settings.lr
    return settings.lr * settings.lr_decay ** (epoch // settings.lr_decay_every)


def tanh_scale(settings: DeepSettings, epoch: int, step: int) -> float:
    """The scale alpha of tanh(alpha f(x)) at ``step`` (from 0, over all epochs).

    ``power`` is HashNet's continuation, alpha sqrt(1 + rate step); ``doubling`` is that of TALR's released
    code (appendix D of the paper), alpha 2^(epoch // rate).
    """
    match settings.tanh_schedule:
        case "fixed":
            return settings.tanh_scale
        case "power":
            return settings.tanh_scale * math.sqrt(1 + settings.tanh_rate * step)
        case "doubling":
            # the released code anneals for as long as it trains; past 2^20 tanh is sign in any arithmetic
            return settings.tanh_scale * 2.0 ** min(20, epoch // int(settings.tanh_rate))
        case other:
            assert_never(other)
