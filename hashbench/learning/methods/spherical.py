"""Spherical hashing: a bit is 1 inside a sphere that holds half of the training examples (Heo et al. 2012).

Algorithm 1 moves the centres until each two spheres share a quarter of the examples: those that share more repel, those
that share less attract each other. Codes are compared by the Hamming distance, not the spherical one of the paper.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._shallow import HashFunction, ShallowSettings, shallow_method
from hashbench.learning.steps import Step, multiply, squared_distances, subtract


class Settings(ShallowSettings):
    """The search ends after ``iterations``, or when two spheres share about a quarter of the examples."""

    sample: int = Field(ge=1)  # the examples that are averaged for the first place of a centre
    mean_error: float = Field(gt=0)  # of the overlaps
    deviation: float = Field(gt=0)
    iterations: int = Field(ge=0)


@dataclass(frozen=True, eq=False)
class Spheres(HashFunction):
    """activations = squared_radii - ||features - centre||^2; centres [bits, d], squared_radii [bits]."""

    of_column = True
    centres: Floats
    squared_radii: Floats

    def steps(self) -> list[Step]:
        """The steps from features [n, d] to activations [n, bits]."""
        outside = [Step(squared_distances, {"others": self.centres}), Step(subtract, {"by": self.squared_radii})]
        return [*outside, Step(multiply, {"by": np.asarray(-1.0)})]


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Spheres:
    n = len(features)
    mean = features.mean(axis=0)
    centred = features - mean  # distances stay as they are, with less rounding
    random = np.random.default_rng(data.seed)
    chosen = [random.choice(n, min(settings.sample, n), replace=False) for _ in range(settings.bits)]
    centres = np.stack([centred[ids].mean(axis=0) for ids in chosen])
    for _ in with_bar(range(settings.iterations), "spheres", "iteration", shown=data.execution.progress):
        distances = squared_distances(centred, centres)
        inside = (distances < np.median(distances, axis=0)).astype(np.float64)
        overlaps = inside.T @ inside / (n / 4)  # examples inside both of two spheres, over a quarter of all
        pairs = overlaps[np.triu_indices(len(overlaps), 1)]
        if not len(pairs) or (np.abs(pairs - 1).mean() <= settings.mean_error and pairs.std() <= settings.deviation):
            break
        centres = centres + _forces(centres, overlaps)
    radii = np.median(squared_distances(centred, centres), axis=0)
    return Spheres(centres + mean, radii)


def _forces(centres: Floats, overlaps: Floats) -> Floats:
    """The move of each centre: the mean over the others j of (overlap - 1) / 2 (centre - centre_j), [bits, d]."""
    push = (overlaps - 1) / 2  # a centre is no distance from itself, so that the diagonal counts nothing
    return (push.sum(axis=1)[:, None] * centres - push @ centres) / len(centres)


METHOD = shallow_method(Settings, _fit, Spheres)
