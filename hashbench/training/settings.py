"""Settings that everything trained has: encoder, batches, optimiser, relaxation."""

from abc import abstractmethod
from typing import Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from hashbench.codes import MAX_BITS
from hashbench.errors import HashbenchError
from hashbench.hasher import BitSettings, CodeSettings, Precision
from hashbench.parallel import ComputeOptions

OFFICIAL, SHA256 = "official", "sha256:"
# Settings of the first version, which had no defaults then: the digests of all runs hold them, at whatever value.
ALWAYS_WRITTEN = ("momentum", "hash_init", "clip_norm", "precision", "tanh_scale", "tanh_schedule", "tanh_rate")


class TrainingSettings(CodeSettings):
    """Settings of encoder, batches, optimiser and relaxation; the TOML files of methods and recipes give the values.

    A setting has a default where it can be without effect (those of tanh where ``relaxation`` is the identity), so
    that no file states what it does not use. A setting that joins later gets a default: what was so before there was
    a choice. A setting at its default is no part of the digest that names a cell, so the rows from before keep their
    names; ``ALWAYS_WRITTEN`` are part of it all the same, for the same reason.
    """

    model: str
    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=2)
    lr: float = Field(gt=0)
    lr_decay: float = Field(gt=0, le=1)  # the learning rate is multiplied by it
    lr_decay_every: int = Field(ge=0)  # every so many epochs; 0: constant
    momentum: float = Field(0.0, ge=0, lt=1)
    weight_decay: float = Field(ge=0)
    backbone_lr: float = Field(ge=0)  # multiplier of the layers before the hash layer
    hash_init: float = Field(0.0, ge=0)  # standard deviation of the hash layer's weights; 0: He's sqrt(2 / inputs)
    clip_norm: float = Field(0.0, ge=0)  # of the gradient; 0: off
    augment: Literal["none", "flip", "crop_flip"]
    # auto: bfloat16 autocast on a GPU, float32 on a CPU
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    relaxation: Literal["tanh", "identity"]
    tanh_scale: float = Field(1.0, gt=0)  # alpha of tanh(alpha f(x)) at the first step
    tanh_schedule: Literal["fixed", "power", "doubling"] = "fixed"
    tanh_rate: float = Field(0.0, ge=0)  # power: alpha sqrt(1 + rate * step); doubling: epochs between doublings
    tanh_every: int = Field(1, ge=1)  # power: alpha is computed anew every so many steps
    lr_schedule: Literal["step", "linear", "explicit"] = "step"  # linear: to 0 over lr_decay_every epochs
    lr_unit: Literal["epoch", "step"] = "epoch"  # what lr_decay_every counts
    lr_explicit: str = ""  # explicit: "0:0.05 50:0.005", each rate from its epoch (or step) on
    bias_lr: float = Field(1.0, ge=0)  # multiplier of the biases before the hash layer, over backbone_lr
    hash_bias_lr: float = Field(1.0, ge=0)  # multiplier of the hash layer's bias
    decay_biases: bool = True  # whether weight_decay holds for biases too
    momentum_form: Literal["lr_outside", "lr_inside"] = "lr_outside"  # the velocity; inside: as Caffe
    nesterov: bool = False
    chunk: int = Field(0, ge=0)  # encode the batch so many examples at a time, in two passes; 0: at once
    # what a network of ImageNet starts from: its authors' weights, random ones, or those of a file
    weights: str = Field(OFFICIAL, pattern=r"^(official|none|sha256:[0-9a-f]{64})$")
    optimiser: Literal["sgd", "adam"] = "sgd"
    steps_per_epoch: int = Field(0, ge=0)  # 0: one pass over the examples
    classes_per_batch: int = Field(0, ge=0)  # every batch holds as many examples of so many classes; 0: any examples
    augment_per: Literal["item", "round", "batch"] = "item"  # who shares a draw; round: the first of each class, ...
    # pixel_mean: from 0 to 1, minus the average item; unit_norm: that, and then scaled to norm 1
    normalise: Literal["channel", "pixel_mean", "unit_norm"] = "channel"
    width: float = Field(1.0, gt=0, le=16)  # of the model, as a multiple of its own
    hash_layer_init: Literal["normal", "xavier"] = "normal"  # xavier: uniform, whatever hash_init says
    hash_weight_decay: float | None = Field(None, ge=0)  # of the hash layer; None: weight_decay

    def precision_on(self, device: str, compute: ComputeOptions) -> Precision:
        """The arithmetic of the encoder in training: as the settings say, else as ``compute`` does, else by the device.

        Raises HashbenchError where both say something, and not the same.
        """
        asked = {self.precision, compute.precision} - {"auto"}
        if len(asked) > 1:
            raise HashbenchError(f"--precision {compute.precision}: the cell's own precision is {self.precision}")
        half = "bfloat16" in asked or (not asked and device.startswith("cuda"))
        return "bfloat16" if half else "float32"

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many activations an item has."""

    @model_serializer(mode="wrap")
    def _always_written(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The settings, ``ALWAYS_WRITTEN`` among them even where those at their defaults are left out."""
        return {**{key: getattr(self, key) for key in ALWAYS_WRITTEN}, **written(self)}

    @model_validator(mode="after")
    def _whole_doublings(self) -> Self:
        if self.tanh_schedule == "doubling" and (self.tanh_rate < 1 or self.tanh_rate % 1):
            raise ValueError("tanh_schedule 'doubling' needs a tanh_rate of whole epochs, 1 or more")
        return self

    @model_validator(mode="after")
    def _schedule_is_whole(self) -> Self:
        if self.lr_schedule == "linear" and self.lr_decay_every == 0:
            raise ValueError("lr_schedule 'linear' needs lr_decay_every: how long until the rate is 0")
        if (self.lr_schedule == "explicit") != bool(self.lr_explicit):
            raise ValueError("lr_explicit goes with lr_schedule = 'explicit', and only with it")
        explicit_rates(self.lr_explicit)
        return self

    @model_validator(mode="after")
    def _nesterov_has_momentum(self) -> Self:
        if self.nesterov and self.momentum == 0:
            raise ValueError("nesterov needs a momentum above 0")
        return self

    @model_validator(mode="after")
    def _momentum_is_of_sgd(self) -> Self:
        if self.optimiser == "adam" and (self.momentum > 0 or self.momentum_form == "lr_inside"):
            raise ValueError("optimiser 'adam' has moments of its own: momentum = 0, momentum_form = 'lr_outside'")
        return self

    @model_validator(mode="after")
    def _classes_fill_the_batch(self) -> Self:
        classes = self.classes_per_batch
        if classes == 0 and self.augment_per == "round":
            raise ValueError("augment_per 'round' needs classes_per_batch: without it a batch has no rounds")
        if classes == 1:
            raise ValueError("classes_per_batch is 2 or more: in one class there is nothing to tell apart")
        if classes and (self.batch_size % classes or self.batch_size == classes):
            raise ValueError(f"batch_size {self.batch_size} is no two or more examples for each of {classes} classes")
        if classes and self.steps_per_epoch == 0:
            raise ValueError("classes_per_batch needs steps_per_epoch: batches drawn by class are no pass over all")
        return self


class DeepSettings(BitSettings, TrainingSettings):
    """Settings of the deep methods of binary codes."""

    @property
    def outputs(self) -> int:
        """An activation a bit."""
        return self.bits


class PulseSettings(DeepSettings):
    """Settings of the objectives on a soft histogram: its bins, and how wide the pulse of a distance is."""

    n_bins: int = Field(ge=0, le=MAX_BITS)  # 0: as bin_rule says
    delta: float = Field(ge=1, le=MAX_BITS)  # half-width of a pulse in bins
    bin_rule: Literal["one_a_bit", "released"] = "one_a_bit"  # released: TALR's run scripts, bits / 2 from 32 bits on

    @property
    def bins(self) -> int:
        """The bin widths between distance 0 and bits."""
        halved = self.bin_rule == "released" and self.bits >= 32
        return self.n_bins or (self.bits // 2 if halved else self.bits)


def explicit_rates(text: str) -> dict[int, float]:
    """The learning rates of ``lr_explicit``, each by the epoch or step it starts at, in order; the first is 0.

    >>> explicit_rates("0:0.05 50:0.005")
    {0: 0.05, 50: 0.005}
    """
    try:
        pairs = [part.split(":") for part in text.split()]
        rates = {int(start): float(rate) for start, rate in pairs}
    except ValueError:
        raise ValueError(f"lr_explicit is START:RATE, separated by spaces, not {text!r}") from None
    starts = list(rates)
    if rates and (starts[0] != 0 or starts != sorted(starts) or len(rates) < len(pairs)):
        raise ValueError(f"lr_explicit starts at 0 and each START is after the one before, unlike {text!r}")
    if not all(0 < rate < float("inf") for rate in rates.values()):
        raise ValueError(f"lr_explicit has rates above 0, unlike {text!r}")
    return rates
