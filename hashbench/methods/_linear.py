"""Linear hash functions: of features, of their principal components, or of their RBF responses to training examples."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hashbench.contract import Floats, TrainingData
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import bar
from hashbench.methods._method import Method
from hashbench.methods._shallow import HashFunction, ShallowSettings, shallow_method


@dataclass(frozen=True, eq=False)
class Linear(HashFunction):
    """activations = (features - mean) @ projection + bias; mean [d], projection [d, bits], bias [bits] or None."""

    mean: Floats
    projection: Floats
    bias: Floats | None = None

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return len(self.mean)

    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d]."""
        products: Floats = (features - self.mean) @ self.projection
        return products if self.bias is None else products + self.bias


@dataclass(frozen=True, eq=False)
class KernelLinear(Linear):
    """Linear functions of the RBF responses of an item to ``anchors`` [m, d]; mean [m], projection [m, bits]."""

    anchors: Floats = field(kw_only=True)
    bandwidth: Floats = field(kw_only=True)

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return self.anchors.shape[1]

    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d]."""
        return super().activations(responses(features, self.anchors, self.bandwidth))


@dataclass(frozen=True, eq=False)
class Inputs:
    """The inputs of linear functions for the training examples: features, or responses to ``anchors``.

    ``values`` float64[n, m]; ``bandwidth`` float64[] is in squared units of the features.
    """

    values: Floats
    anchors: Floats | None = None
    bandwidth: Floats | None = None

    def function(
        self, mean: Floats | None, projection: Floats, bias: Floats | None = None, *, weights: Floats | None = None
    ) -> Linear:
        """The hash function (inputs - mean) @ projection + bias; a ``mean`` of None is 0."""
        centre = np.zeros(len(projection)) if mean is None else mean
        if self.anchors is None or self.bandwidth is None:
            return Linear(centre, projection, bias, weights=weights)
        return KernelLinear(centre, projection, bias, anchors=self.anchors, bandwidth=self.bandwidth, weights=weights)


def inputs_of(kind: str, features: Floats, n_anchors: int, random: np.random.Generator) -> Inputs:
    """The inputs of the ``kind`` "linear" (the features) or "kernel": responses to ``n_anchors`` random examples.

    The bandwidth is the mean squared distance of the training examples to the anchors, as in the released code of KSH
    (``KSH_demo.m``; Liu et al. 2012), which does not square it again.
    """
    if kind == "linear":
        return Inputs(features)
    require_anchors(n_anchors, len(features))
    anchors = features[random.choice(len(features), n_anchors, replace=False)]
    bandwidth = np.asarray(squared_distances(features, anchors).mean())
    return Inputs(responses(features, anchors, bandwidth), anchors, bandwidth)


def responses(features: Floats, anchors: Floats, bandwidth: Floats) -> Floats:
    """The RBF responses exp(-||x - a||^2 / (2 bandwidth)) of ``features`` [n, d] to ``anchors`` [m, d], [n, m]."""
    return np.exp(squared_distances(features, anchors) / (-2 * bandwidth))


def require_anchors(n_anchors: int, n_examples: int) -> None:
    """Raises HashbenchError if there are fewer training examples than anchors, which are drawn from them."""
    if n_anchors > n_examples:
        raise HashbenchError(f"{n_anchors} anchors from {n_examples} training examples: at most as many anchors")


def squared_distances(items: Floats, others: Floats) -> Floats:
    """Squared Euclidean distances float64[n, m] of ``items`` [n, d] to ``others`` [m, d], never below 0."""
    products = items @ others.T
    products *= -2
    products += np.square(items).sum(axis=1)[:, None]
    products += np.square(others).sum(axis=1)
    return np.maximum(products, 0, out=products)


def principal_components(features: Floats) -> tuple[Floats, Floats]:
    """The mean [d] of ``features`` [n, d] and their principal axes [d, r] as columns, that of most variance first.

    r is the rank of the centred features: along every other axis they do not vary, and a sign there would be noise.
    """
    mean = features.mean(axis=0)
    _, scales, axes = np.linalg.svd(features - mean, full_matrices=False)
    varies = scales > scales[0] * max(features.shape) * np.finfo(np.float64).eps
    return mean, axes[varies].T


def columns(method: str, vectors: Iterable[Floats], bits: int, *, shown: bool) -> Floats:
    """The vectors [d] of all bits as columns, float64[d, bits], with a progress bar while they are fitted."""
    with bar(method, "bit", bits, shown=shown) as progress:
        found = []
        for vector in vectors:
            found.append(vector)
            progress.update(1)
    return np.stack(found, axis=1)


def linear_method(
    settings: type[ShallowSettings], project: Callable[[Any, Floats, int], tuple[Floats, Floats]]
) -> Method:
    """The method whose ``project(settings, features, seed)`` returns the mean [d] and the projection [d, bits]."""

    def fit(chosen: Any, features: Floats, data: TrainingData) -> Linear:
        return Linear(*project(chosen, features, data.seed))

    return shallow_method(settings, fit, Linear)
