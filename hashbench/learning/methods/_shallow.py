"""Shallow methods: hash functions of features, fitted to all training examples at once; linear ones among them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from hashbench.foundation.arrays import open_arrays, write_arrays
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import (
    BinaryHasher,
    BitSettings,
    CodeSettings,
    DamagedHasher,
    Floats,
    Hasher,
    SavedHasher,
    TrainingData,
)
from hashbench.learning.methods._method import Method, Requirement, require_usable
from hashbench.learning.steps import (
    Step,
    Steps,
    add,
    apply,
    divide,
    exponential,
    flatten,
    in_blocks,
    project,
    squared_distances,
    subtract,
    unit_norm,
)

FILE = "hasher.npz"
AVERAGE = "average_item"  # the names of the arrays of a scaling in the file: no array of a hash function has them
DEVIATION = "deviation_item"
VARYING = "principal components along which the features vary"
LEAST_DEVIATION = 1e-7  # of the mean, as networks have it: float32 rounds a constant by up to 6e-8 of it


class FeatureSettings(CodeSettings):
    """The settings of every method that is fitted to features: its file must name these."""

    features: str
    # unit_norm: minus the average training item; channel_unit_norm: zero mean and unit variance of each feature, or of
    # each channel of images; both are then divided by the norm, as the same settings of networks are
    normalise: Literal["none", "unit_norm", "channel_unit_norm"] = "none"


class ShallowSettings(FeatureSettings, BitSettings):
    """The settings that every shallow method has."""


@dataclass(frozen=True, eq=False)
class FittedFunction(ABC):
    """A function of features; a subclass (a frozen dataclass) has arrays or None as fields, to be saved."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """The number of features of an item."""

    def arrays(self) -> dict[str, Any]:
        """The fields by name, without those that are None."""
        return {name: array for name, array in vars(self).items() if array is not None}


@dataclass(frozen=True, eq=False)
class HashFunction(FittedFunction):
    """The hash functions of all bits."""

    weights: Floats | None = field(default=None, kw_only=True)  # [bits], 0 or more, if the method learns weights

    of_column: ClassVar[bool] = False  # whether a feature is a column, not a row, of its first array

    @property
    def n_features(self) -> int:
        """The number of features of an item: the rows of the first array, or its columns."""
        first = next(name for name in self.arrays() if name != "weights")
        return int(self.arrays()[first].shape[self.of_column])

    def steps(self) -> list[Step]:
        """The steps from features float64[n, d] to activations [n, bits], each item alone: a bit is 1 if it is above 0.

        A subclass that has ``activations`` of its own needs none; then its runs are not exported.
        """
        raise HashbenchError(f"{type(self).__name__}: it says no steps from features to activations, so no file has it")

    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d], which the steps give."""
        return apply(self.steps(), features)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Features minus an average, divided by a deviation if there is one, then each item divided by its norm."""

    average: Floats  # [d]
    deviation: Floats | None = None  # [d]

    def steps(self) -> list[Step]:
        """The steps from features [n, d] to scaled ones; the average itself stays at 0."""
        centred = [Step(subtract, {"by": self.average})]
        if self.deviation is not None:
            centred.append(Step(divide, {"by": self.deviation}))
        return [*centred, Step(unit_norm, {})]

    def apply(self, features: Floats) -> Floats:
        """The scaled ``features`` [n, d]."""
        return apply(self.steps(), features)


@dataclass(frozen=True, eq=False)
class FeatureHasher:
    """A fitted function of features; the items that it takes are divided by ``value_max``."""

    function: FittedFunction
    value_max: float
    scaling: Scaling | None = None

    def blocks(self, items: NDArray[Any]) -> Iterator[Floats]:
        """The features float64[n, d] of ``items``, scaled as in training, some thousands at a time."""
        for block in in_blocks(items):
            features = as_features(block, self.value_max)
            if features.shape[1] != self.function.n_features:
                taken = self.function.n_features
                raise HashbenchError(f"items have {features.shape[1]} values each, the hasher takes {taken}")
            if self.scaling is not None:
                features = self.scaling.apply(features)
            yield features

    def save(self, folder: Path) -> None:
        """Writes the hasher into ``folder``."""
        arrays = self.function.arrays() | {"function": type(self.function).__name__, "value_max": self.value_max}
        if self.scaling is not None:
            arrays[AVERAGE] = self.scaling.average
            if self.scaling.deviation is not None:
                arrays[DEVIATION] = self.scaling.deviation
        write_arrays(folder / FILE, arrays, "plain")


@dataclass(frozen=True, eq=False)
class ShallowHasher(FeatureHasher, BinaryHasher):
    """The hasher of a shallow method."""

    function: HashFunction

    @property
    def bit_weights(self) -> Floats | None:
        return self.function.weights

    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:  # noqa: ARG002
        # an activation that is not finite is refused where it is made a code, in one line
        with np.errstate(over="ignore", invalid="ignore"):
            blocks = [self.function.activations(features).astype(np.float32) for features in self.blocks(items)]
            return np.concatenate(blocks)

    def as_steps(self) -> Steps:
        steps = [Step(flatten, {})]
        if self.value_max != 1:
            steps.append(Step(divide, {"by": np.asarray(self.value_max)}))
        if self.scaling is not None:
            steps += self.scaling.steps()
        return Steps([*steps, *self.function.steps()], "float64")


def as_features(items: NDArray[Any], value_max: float) -> Floats:
    """``items`` as float64[n, d], one row each, divided by ``value_max`` so that the largest possible value is 1."""
    features = items.reshape(len(items), -1).astype(np.float64)
    if value_max != 1:
        features /= value_max
    return features


def scaling_of(normalise: str, items: NDArray[Any], value_max: float) -> Scaling | None:
    """The scaling that ``normalise`` names, fitted to the training ``items`` [n, ...]; None for "none".

    Items multiplied by a constant are scaled to the same, but for rounding.
    """
    if normalise == "none":
        return None
    features = as_features(items, value_max)
    if normalise == "unit_norm":
        return Scaling(features.mean(axis=0))
    of_channel = features.reshape(-1, items.shape[-1])
    n_places = features.shape[1] // items.shape[-1]
    mean = of_channel.mean(axis=0)
    deviation = of_channel.std(axis=0)
    deviation[deviation <= LEAST_DEVIATION * np.abs(mean)] = np.inf  # what is the same for all training items becomes 0
    return Scaling(np.tile(mean, n_places), np.tile(deviation, n_places))


def shallow_method(
    settings: type[FeatureSettings],
    fit: Callable[[Any, Floats, TrainingData], FittedFunction],  # of features that are scaled as the settings say
    *functions: type[FittedFunction],  # that ``fit`` may return
    identity: tuple[str, ...] = (),  # what names its runs besides bits and features
    supervision: Literal["none", "labels", "relevance"] = "none",
    hasher: Callable[[Any, float, Scaling | None], Hasher] = ShallowHasher,
    require: Requirement | None = None,
) -> Method:
    """The method whose hash functions are ``fit(settings, features, data)``; see ``Method`` for ``require``."""
    by_name = {function.__name__: function for function in functions}

    def fitted(chosen: Any, data: TrainingData) -> Hasher:
        features = as_features(data.items, data.value_max)
        require_usable(features)
        if require is not None:
            require(chosen, features.shape[1], len(features))
        scaling = scaling_of(chosen.normalise, data.items, data.value_max)
        if scaling is not None:
            features = scaling.apply(features)
        return hasher(fit(chosen, features, data), data.value_max, scaling)

    def load(chosen: FeatureSettings, stored: SavedHasher) -> Hasher:  # noqa: ARG001
        path = stored.folder / FILE
        damaged = retold(lambda cause: f"{path}: not a whole hasher ({cause})", by=DamagedHasher)
        with damaged, open_arrays(path) as archive:
            function = by_name[str(archive["function"])]
            arrays = {part.name: archive[part.name] for part in fields(function) if part.name in archive}
            scales = [archive[name] for name in (AVERAGE, DEVIATION) if name in archive]
            return hasher(function(**arrays), float(archive["value_max"]), Scaling(*scales) if scales else None)

    names = ("bits", "features", *identity)
    return Method(settings, names, fitted, load, needs_torch=False, supervision=supervision, require=require)


def require_bits_of_features(settings: ShallowSettings, n_features: int, n_examples: int) -> None:  # noqa: ARG001
    """Raises HashbenchError for more bits than features."""
    require_bits(settings.bits, n_features, "features")


def require_bits_below_features(settings: ShallowSettings, n_features: int, n_examples: int) -> None:
    """Raises HashbenchError for more bits than principal components of so many features and examples can be."""
    require_bits(settings.bits, n_features, "features")
    require_bits(settings.bits, n_examples - 1, f"directions in which {n_examples} training examples vary")


def require_bits(bits: int, most: int, of_what: str) -> None:
    """Raises HashbenchError for more ``bits`` than ``most``: no seed changes that, so it is no TrainingFailed."""
    if bits > most:
        raise HashbenchError(f"{bits} bits from {most} {of_what}: at most {most} bits")


@dataclass(frozen=True, eq=False)
class Linear(HashFunction):
    """activations = (features - mean) @ projection + bias; mean [d], projection [d, bits], bias [bits] or None."""

    mean: Floats
    projection: Floats
    bias: Floats | None = None

    def steps(self) -> list[Step]:
        steps = [Step(subtract, {"by": self.mean}), Step(project, {"weights": self.projection})]
        if self.bias is not None:
            steps.append(Step(add, {"by": self.bias}))
        return steps


@dataclass(frozen=True, eq=False)
class KernelLinear(Linear):
    """Linear functions of the RBF responses of an item to ``anchors`` [m, d]; mean [m], projection [m, bits]."""

    anchors: Floats = field(kw_only=True)
    bandwidth: Floats = field(kw_only=True)

    @property
    def n_features(self) -> int:
        return self.anchors.shape[1]

    def steps(self) -> list[Step]:
        return [*response_steps(self.anchors, self.bandwidth), *super().steps()]


def linear_method(
    settings: type[ShallowSettings],
    project: Callable[[Any, Floats, int], tuple[Floats, Floats]],
    require: Requirement | None = None,
) -> Method:
    """The method whose ``project(settings, features, seed)`` returns the mean [d] and the projection [d, bits]."""

    def fit(chosen: Any, features: Floats, data: TrainingData) -> Linear:
        return Linear(*project(chosen, features, data.seed))

    return shallow_method(settings, fit, Linear, require=require)


def inputs_of(
    kind: str, features: Floats, n_anchors: int, random: np.random.Generator, bandwidth: float = 0.0
) -> tuple[Floats, Callable[..., Linear]]:
    """The inputs [n, m]: features, or (kernel) responses to random anchors; and what makes a Linear of the rest.

    ``bandwidth`` is that of the responses; 0: the mean squared distance of the features to the anchors.
    """
    if kind == "linear":
        return features, Linear
    require_anchors(n_anchors, len(features))
    anchors = features[random.choice(len(features), n_anchors, replace=False)]
    # the mean squared distance, not squared again, as in the released code of KSH (Liu et al. 2012)
    width = np.asarray(bandwidth or squared_distances(features, anchors).mean())
    return responses(features, anchors, width), partial(KernelLinear, anchors=anchors, bandwidth=width)


def responses(features: Floats, anchors: Floats, bandwidth: Floats) -> Floats:
    """The RBF responses exp(-||x - a||^2 / (2 bandwidth)) of ``features`` [n, d] to ``anchors`` [m, d], [n, m]."""
    return apply(response_steps(anchors, bandwidth), features)


def response_steps(anchors: Floats, bandwidth: Floats) -> list[Step]:
    """The steps from features to their ``responses``."""
    distances = Step(squared_distances, {"others": anchors})
    return [distances, Step(divide, {"by": np.asarray(-2 * bandwidth)}), Step(exponential, {})]


def require_anchors(n_anchors: int, n_examples: int) -> None:
    """Raises HashbenchError if there are fewer training examples than anchors, which are drawn from them."""
    if n_anchors > n_examples:
        raise HashbenchError(
            f"{n_anchors} anchors from {n_examples} training examples: --set n_anchors={n_examples}, or fewer"
        )


def principal_components(features: Floats) -> tuple[Floats, Floats]:
    """The mean [d] of ``features`` [n, d] and their principal axes [d, rank] as columns, the most variance first."""
    mean = features.mean(axis=0)
    _, scales, axes = np.linalg.svd(features - mean, full_matrices=False)
    # along every other axis the features do not vary, and a sign there would be noise
    varies = scales > scales[0] * max(features.shape) * np.finfo(np.float64).eps
    return mean, axes[varies].T


def first_components(features: Floats, bits: int) -> tuple[Floats, Floats]:
    """The mean [d] and the first principal axes [d, bits]; raises HashbenchError where there are fewer."""
    mean, axes = principal_components(features)
    require_bits(bits, axes.shape[1], VARYING)
    return mean, axes[:, :bits]


def random_rotation(bits: int, seed: int) -> Floats:
    """An orthogonal matrix [bits, bits]."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((bits, bits)))[0]


def signs(values: Floats) -> Floats:
    """+1 where a value is above 0, else -1, as float64."""
    return np.where(values > 0, 1.0, -1.0)


def standardisation(features: Floats) -> tuple[Floats, Floats]:
    """The mean [d] and the standard deviation [d] of ``features`` [n, d]; 1 for a constant feature."""
    mean = features.mean(axis=0)
    scale = features.std(axis=0)
    scale[np.ptp(features, axis=0) == 0] = 1
    return mean, scale


def ridge_solution(inputs: Floats, ridge: float) -> Callable[[Floats], Floats]:
    """The ridge regression on X = ``inputs`` [n, m], a function of T [n, k].

    It returns the P [m, k] with the least ||T - X P||^2 + ``ridge`` ||P||^2.
    With ``ridge`` = 0 and columns of X that depend on each other, it is the smallest such P.
    """
    inverse = scipy.linalg.pinvh(inputs.T @ inputs + ridge * np.eye(inputs.shape[1]))
    return lambda targets: np.asarray(inverse @ (inputs.T @ targets))


def columns(method: str, vectors: Iterable[Floats], bits: int, *, shown: bool) -> Floats:
    """The vectors [d] of all bits as columns, float64[d, bits], with a progress bar while they are fitted."""
    return np.stack(list(with_bar(vectors, method, "bit", bits, shown=shown)), axis=1)
