"""The settings of every method that trains a network: encoder, batches, optimiser, relaxation."""

from abc import abstractmethod
from typing import Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from hashbench.learning.contract import PIXELS, BitSettings, CodeSettings, Precision
from hashbench.learning.models import MODELS, RANDOM_WEIGHTS, whole_network
from hashbench.scoring.codes import MAX_BITS

OFFICIAL = "official"
SHA256 = "sha256:"
N_SHOWN = 12  # characters of the checksum in the names of weights and of their features
# These settings had no defaults in the first version, so the digests of all runs include them at any value.
ALWAYS_WRITTEN = ("momentum", "hash_init", "clip_norm", "precision", "tanh_scale", "tanh_schedule", "tanh_rate")


class TrainingSettings(CodeSettings):
    """Settings of encoder, batches, optimiser and relaxation; the TOML files of methods and recipes give their values.

    A setting that is added later gets the old behaviour as its default: the digest that names a run leaves out settings
    at their defaults (but ``ALWAYS_WRITTEN``), so older rows keep their names.
    """

    model: str
    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=2)
    lr: float = Field(gt=0)
    lr_decay: float = Field(gt=0, le=1)  # lr_schedule "step" multiplies the learning rate by this factor
    lr_decay_every: int = Field(ge=0)  # ... after each so many epochs (or steps, see lr_unit); 0: never
    momentum: float = Field(0.0, ge=0, lt=1)
    weight_decay: float = Field(ge=0)
    backbone_lr: float = Field(ge=0)  # factor on the learning rate of the layers before the hash layer
    hash_init: float = Field(0.0, ge=0)  # standard deviation of the hash layer's weights; 0: He's sqrt(2 / inputs)
    clip_norm: float = Field(0.0, ge=0)  # largest norm of the network's gradient; 0: no clipping
    augment: Literal["none", "flip", "crop_flip"]
    # so many augmented copies of each training image have their features stored, and each epoch draws one; 0: none
    copies: int = Field(0, ge=0, le=1000)
    # so large a share of the values of an item is 0 at a step, and the others are divided by the rest: the dropout that
    # a frozen network has on its features in training
    feature_dropout: float = Field(0.0, ge=0, lt=1)
    precision: Literal["auto"] = "auto"  # a word of every name; the option --precision decides
    relaxation: Literal["tanh", "identity"]
    tanh_scale: float = Field(1.0, gt=0)  # alpha of tanh(alpha f(x)) at the first step
    tanh_schedule: Literal["fixed", "power", "doubling"] = "fixed"
    tanh_rate: float = Field(0.0, ge=0)  # power: alpha sqrt(1 + rate * step); doubling: epochs between doublings
    tanh_every: int = Field(1, ge=1)  # power: alpha is updated every so many steps
    lr_schedule: Literal["step", "one_cycle"] = "step"  # one_cycle: up to lr and down again over all epochs, by steps
    lr_unit: Literal["epoch", "step"] = "epoch"  # the unit of lr_decay_every
    bias_lr: float = Field(1.0, ge=0)  # factor on the learning rate of the backbone's biases, besides backbone_lr
    hash_bias_lr: float = Field(1.0, ge=0)  # factor on the learning rate of the hash layer's bias
    decay_biases: bool = True  # whether weight_decay applies to biases too
    momentum_form: Literal["lr_outside", "lr_inside"] = "lr_outside"  # inside: v <- momentum v + lr g, as in Caffe
    nesterov: bool = False
    # initial weights of a network of ImageNet: official ones, random ones (none), or the file with this checksum
    weights: str = Field(OFFICIAL, pattern=r"^(official|none|sha256:[0-9a-f]{64})$")
    optimiser: Literal["sgd", "adam"] = "sgd"
    steps_per_epoch: int = Field(0, ge=0)  # 0: one pass over the training examples
    classes_per_batch: int = Field(0, ge=0)  # a batch holds equally many examples of so many classes; 0: any examples
    # which examples get the same flip and crop: none, the first (second, ...) of all classes, or the whole batch
    augment_per: Literal["item", "round", "batch"] = "item"
    # channel: zero mean, unit variance; pixel_mean: in [0, 1], minus the average item; unit_norm and channel_unit_norm:
    # then divided by the norm
    normalise: Literal["channel", "pixel_mean", "unit_norm", "channel_unit_norm"] = "channel"
    width: float = Field(1.0, gt=0, le=16)  # factor on the channels of every layer of the model, or on its anchors
    # truncated_normal: no weight beyond two standard deviations; xavier: uniform, and hash_init is ignored
    hash_layer_init: Literal["normal", "xavier", "truncated_normal"] = "normal"
    hash_weight_decay: float | None = Field(None, ge=0)  # weight decay of the hash layer; None: weight_decay
    # how a pretrained network gets its size from stored images: the whole image, or a window of it, which is at its
    # centre, but with augment "crop_flip" anywhere in training
    input_images: Literal["resized", "cropped"] = "resized"
    # batch: the hash layer has no bias, and batch normalisation follows it, with a scale and a shift of each bit
    hash_norm: Literal["none", "batch"] = "none"
    # frozen: batch normalisation in the network keeps the statistics of its initial weights, in training too
    batch_norm: Literal["trained", "frozen"] = "trained"
    # of an objective with weights of its own, such as a classifier: the factor on the rate of the hash layer
    objective_lr: float = Field(1.0, gt=0)

    def precision_on(self, device: str, precision: str) -> Precision:
        """The floating point type of the encoder in training: bfloat16 autocast on a GPU unless ``precision`` says."""
        is_half = precision == "bfloat16" or (precision == "auto" and device.startswith("cuda"))
        return "bfloat16" if is_half else "float32"

    def items_of_epoch(self, n_examples: int) -> int:
        """The number of examples that the steps of an epoch take, of so many training examples."""
        return self.steps_per_epoch * self.batch_size or n_examples

    @property
    @abstractmethod
    def outputs(self) -> int:
        """The number of activations of an item."""

    @model_serializer(mode="wrap")
    def _always_written(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {**{key: getattr(self, key) for key in ALWAYS_WRITTEN}, **written(self)}

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        if self.tanh_schedule == "doubling" and (self.tanh_rate < 1 or self.tanh_rate % 1):
            raise ValueError("tanh_schedule 'doubling' needs a tanh_rate of whole epochs, 1 or more")
        is_caffe = self.momentum_form == "lr_inside"
        if (self.nesterov and self.momentum == 0) or (self.optimiser == "adam" and (self.momentum > 0 or is_caffe)):
            fitting = "nesterov needs a momentum above 0, and optimiser 'adam' has moments of its own: momentum = 0"
            raise ValueError(f"{fitting}, momentum_form = 'lr_outside'")
        return self

    @model_validator(mode="after")
    def _stored_activations_are_of_these_weights(self) -> Self:
        if self.weights != OFFICIAL and MODELS.get(self.model).takes is not None:
            whole = whole_network(self.model)
            raise ValueError(f"{self.model} takes activations of official weights: weights = 'official', or {whole}")
        return self

    @model_validator(mode="after")
    def _copies_are_of_features(self) -> Self:
        if self.copies and self.features == PIXELS:
            raise ValueError("copies are of features; of images augment draws another one at each step: copies = 0")
        return self

    @model_validator(mode="after")
    def _classes_fill_the_batch(self) -> Self:
        classes = self.classes_per_batch
        if classes == 0 and self.augment_per == "round":
            raise ValueError("augment_per 'round' needs classes_per_batch: without it a batch has no rounds")
        rounds, rest = divmod(self.batch_size, classes or 1)
        if classes and (classes == 1 or rounds < 2 or rest or self.steps_per_epoch == 0):
            batch = f"batch_size {self.batch_size} is no two or more examples for each of {classes} classes"
            raise ValueError(f"{batch}, two or more, in steps_per_epoch: these three belong together")
        return self


class DeepSettings(BitSettings, TrainingSettings):
    """The settings of the deep methods of binary codes.

    With ``head`` "trained" the hash layer starts from a linear head that the same method trained on the centred
    features of norm 1 of the network's initial ``weights``; centring and norm stay a part of the network.
    """

    head: Literal["random", "trained"] = "random"
    transport: float = Field(0.0, ge=0)  # the weight of HSWD's term of the relaxed codes, for any objective

    @property
    def outputs(self) -> int:
        """The number of activations: one for each bit."""
        return self.bits

    @model_validator(mode="after")
    def _a_head_has_features(self) -> Self:
        if self.head == "random":
            return self
        if self.weights == RANDOM_WEIGHTS or (self.weights == OFFICIAL and MODELS.get(self.model).pretrained is None):
            raise ValueError("head 'trained' needs --weights NAME of hashbench pretrain: it trains on their features")
        return self


class RawSettings(DeepSettings):
    """The settings of objectives that take the activations as they are, and relax or binarise them themselves."""

    @model_validator(mode="after")
    def _takes_raw_activations(self) -> Self:
        if self.relaxation != "identity":
            raise ValueError("the objective itself relaxes the activations: relaxation = 'identity'")
        return self


class CentreSettings(DeepSettings):
    """The settings of objectives with a fixed code for each class: how these centres are drawn."""

    centres: Literal["hadamard", "hadamard_first", "bernoulli", "max_distance"]


class PairWeightSettings(DeepSettings):
    """The settings of objectives whose similar pairs, which are few, may weigh more."""

    # similar: those pairs weigh |S| / |S1|; both: dissimilar ones |S| / |S0| too
    weighting: Literal["none", "similar", "both"]


class PulseSettings(DeepSettings):
    """The settings of objectives on a soft histogram: a distance is a pulse (a triangle) spread over bins."""

    n_bins: int = Field(ge=0, le=MAX_BITS)  # number of bin widths; 0: bin_rule decides
    delta: float = Field(ge=1, le=MAX_BITS)  # half-width of a pulse in bins
    # one_a_bit: n_bins = bits; half: bits / 2; released: as in TALR's scripts for AP, half if there are 32 bits or more
    bin_rule: Literal["one_a_bit", "half", "released"] = "one_a_bit"

    @property
    def bins(self) -> int:
        """The number of bin widths between distance 0 and distance ``bits``."""
        if self.n_bins:
            return self.n_bins
        is_halved = self.bin_rule == "half" or (self.bin_rule == "released" and self.bits >= 32)
        if is_halved:
            return max(1, self.bits // 2)
        return self.bits
