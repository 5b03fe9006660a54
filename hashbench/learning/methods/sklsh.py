"""SKLSH: locality-sensitive codes of a shift-invariant kernel (Raginsky, Lazebnik 2009); only a scale is learned.

A bit is sgn(cos(w^T x + u) + t), w ~ N(0, gamma I), u uniform in [0, 2 pi], t uniform in [-1, 1]. The expected share
of bits that differ rises with |x - y| alone: it is a function of the Gaussian kernel exp(-gamma |x - y|^2 / 2).
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.lazy import Lazy
from hashbench.learning.contract import Floats, TrainingData, TrainingFailed
from hashbench.learning.methods._shallow import HashFunction, ShallowSettings, shallow_method
from hashbench.learning.steps import Step, add, cosine, project

nearest = Lazy("sklearn.neighbors")

SAMPLE = 1000  # training examples whose neighbours are looked for


class Settings(ShallowSettings):
    """``gamma`` is of distances over the mean distance of a training example to its ``neighbours``-th nearest one."""

    gamma: float = Field(gt=0)
    neighbours: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class RandomWaves(HashFunction):
    """activations = cos(features @ projection + phase) + threshold."""

    projection: Floats  # [d, bits]
    phase: Floats  # [bits]
    threshold: Floats  # [bits]

    def steps(self) -> list[Step]:
        """The steps from features [n, d] to activations [n, bits]."""
        angle = [Step(project, {"weights": self.projection}), Step(add, {"by": self.phase})]
        return [*angle, Step(cosine, {}), Step(add, {"by": self.threshold})]


def _fit(settings: Settings, features: Floats, data: TrainingData) -> RandomWaves:
    random = np.random.default_rng(data.seed)
    unit = neighbour_distance(features, settings.neighbours, random)
    projection = random.standard_normal((features.shape[1], settings.bits)) * np.sqrt(settings.gamma) / unit
    return RandomWaves(projection, random.uniform(0, 2 * np.pi, settings.bits), random.uniform(-1, 1, settings.bits))


def neighbour_distance(features: Floats, neighbours: int, random: np.random.Generator) -> float:
    """The mean distance of ``SAMPLE`` random ``features`` [n, d], or of all, to the ``neighbours``-th nearest other."""
    n = len(features)
    if neighbours >= n:
        raise HashbenchError(f"neighbours = {neighbours}: a training example has {n - 1} others")
    chosen = features[random.choice(n, min(SAMPLE, n), replace=False)]
    search = nearest.NearestNeighbors(n_neighbors=neighbours + 1, algorithm="brute").fit(features)
    distances, _ = search.kneighbors(chosen)
    unit = float(distances[:, neighbours].mean())  # column 0 is the example itself
    if unit <= 1e-6 * features.std():  # equal examples are apart by a rounding
        raise TrainingFailed(f"the {neighbours} nearest others of each training example are equal to it")
    return unit


METHOD = shallow_method(Settings, _fit, RandomWaves)
