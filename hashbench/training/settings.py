"""Settings that every deep method has: encoder, optimiser, relaxation."""

from typing import Literal, Self

from pydantic import Field, model_validator

from hashbench.codes import MAX_BITS
from hashbench.hasher import BitSettings


class DeepSettings(BitSettings):
    """Settings of the encoder, the optimiser and the relaxation; the methods' TOML files say where values come from."""

    model: str
    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=2)
    lr: float = Field(gt=0)
    lr_decay: float = Field(gt=0, le=1)  # the learning rate is multiplied by it
    lr_decay_every: int = Field(ge=0)  # every so many epochs; 0: constant
    momentum: float = Field(ge=0, lt=1)
    weight_decay: float = Field(ge=0)
    backbone_lr: float = Field(ge=0)  # multiplier of the layers before the hash layer
    hash_init: float = Field(ge=0)  # standard deviation of the hash layer's weights; 0: He's sqrt(2 / inputs)
    clip_norm: float = Field(ge=0)  # of the gradient; 0: off
    augment: Literal["none", "flip", "crop_flip"]
    precision: Literal["auto", "float32", "bfloat16"]  # auto: bfloat16 autocast on a GPU, float32 on a CPU
    relaxation: Literal["tanh", "identity"]
    tanh_scale: float = Field(gt=0)  # alpha of tanh(alpha f(x)) at the first step
    tanh_schedule: Literal["fixed", "power", "doubling"]
    tanh_rate: float = Field(ge=0)  # power: alpha sqrt(1 + rate * step); doubling: epochs between doublings

    @model_validator(mode="after")
    def _whole_doublings(self) -> Self:
        if self.tanh_schedule == "doubling" and (self.tanh_rate < 1 or self.tanh_rate % 1):
            raise ValueError("tanh_schedule 'doubling' needs a tanh_rate of whole epochs, 1 or more")
        return self


class PulseSettings(DeepSettings):
    """Settings of the objectives on a soft histogram: its bins, and how wide the pulse of a distance is."""

    n_bins: int = Field(ge=0, le=MAX_BITS)  # 0: as many as bits
    delta: float = Field(ge=1, le=MAX_BITS)  # half-width of a pulse in bins
