"""Spherical hashing: a bit is 1 inside a sphere that holds half of the training examples (Heo et al. 2012).

Section 3.2 (Algorithm 1) moves the centres until each two spheres share a quarter of the examples: those that share
more repel, those that share less attract each other. The codes are compared by the Hamming distance here; the paper
also has a spherical Hamming distance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.contract import Floats, TrainingData
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import bar
from hashbench.methods._kernel import squared_distances
from hashbench.methods._shallow import HashFunction, ShallowSettings, shallow_method


class Settings(ShallowSettings):
    """``sample`` examples are averaged for the first place of a centre; the rest says when the iterations end.

    They end after ``iterations``, or when the overlaps of two spheres, in units of a quarter of the examples, differ
    from 1 by at most ``mean_error`` on average and have a standard deviation of at most ``deviation``.
    """

    sample: int = Field(ge=1)
    mean_error: float = Field(gt=0)
    deviation: float = Field(gt=0)
    iterations: int = Field(ge=0)


@dataclass(frozen=True, eq=False)
class Spheres(HashFunction):
    """activations = squared_radii - ||features - centre||^2; centres [bits, d], squared_radii [bits]."""

    centres: Floats
    squared_radii: Floats

    @property
    def n_features(self) -> int:
        """The number of features of an item."""
        return self.centres.shape[1]

    def activations(self, features: Floats) -> Floats:
        """Activations float64[n, bits] of ``features`` [n, d]."""
        return self.squared_radii - squared_distances(features, self.centres)


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Spheres:
    if settings.sample > len(features):
        raise HashbenchError(f"a centre is the mean of {settings.sample} training examples; there are {len(features)}")
    centred = features - features.mean(axis=0)  # distances stay as they are, with less rounding
    centres = _first_centres(centred, settings, data.seed)
    with bar("spheres", "iteration", settings.iterations, shown=data.progress) as shown:
        for _ in range(settings.iterations):
            overlaps = _overlaps(_sphere(centred, centres))
            if _balanced(overlaps, settings):
                break
            centres = centres + _forces(centres, overlaps)
            shown.update()
    spheres = _sphere(centred, centres)
    return Spheres(spheres.centres + features.mean(axis=0), spheres.squared_radii)


def _first_centres(features: Floats, settings: Settings, seed: int) -> Floats:
    """The mean of ``sample`` random examples for each bit, [bits, d]."""
    random = np.random.default_rng(seed)
    chosen = [random.choice(len(features), settings.sample, replace=False) for _ in range(settings.bits)]
    return np.stack([features[ids].mean(axis=0) for ids in chosen])


@dataclass(frozen=True)
class _Filled:
    """Spheres and which examples lie inside them: inside bool[n, bits]."""

    centres: Floats
    squared_radii: Floats
    inside: NDArray[np.bool_]


def _sphere(features: Floats, centres: Floats) -> _Filled:
    """The spheres around ``centres`` that hold half of the examples each: a radius is the median distance."""
    distances = squared_distances(features, centres)
    radii = np.median(distances, axis=0)
    return _Filled(centres, radii, distances < radii)


def _overlaps(spheres: _Filled) -> Floats:
    """The number of examples inside both of two spheres, over a quarter of all; float64[bits, bits]."""
    inside = spheres.inside.astype(np.float64)
    return inside.T @ inside / (len(inside) / 4)


def _balanced(overlaps: Floats, settings: Settings) -> bool:
    """Whether the overlaps are close enough to 1, on average and in their standard deviation."""
    pairs = overlaps[np.triu_indices(len(overlaps), 1)]
    if len(pairs) == 0:
        return True
    return bool(np.abs(pairs - 1).mean() <= settings.mean_error and pairs.std() <= settings.deviation)


def _forces(centres: Floats, overlaps: Floats) -> Floats:
    """The move of each centre: the mean over the others j of (overlap - 1) / 2 (centre - centre_j), [bits, d]."""
    push = (overlaps - 1) / 2  # a centre is no distance from itself, so that the diagonal counts nothing
    return (push.sum(axis=1)[:, None] * centres - push @ centres) / len(centres)


METHOD = shallow_method(Settings, _fit, Spheres)
