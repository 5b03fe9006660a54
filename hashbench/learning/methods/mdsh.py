"""MDSH: multidimensional spectral hashing (Weiss, Fergus, Torralba 2012).

The bits are signs of eigenfunctions of the normalised affinity exp(-||x - y||^2 / (2 sigma^2)). As in the authors' code
they are of single principal components, found on a histogram of each: those with the largest eigenvalues, which weight
the bits, without the constants. The paper's own distance sums over products of them too: it is not computed here.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._shallow import (
    HashFunction,
    ShallowSettings,
    principal_components,
    require_bits,
    shallow_method,
)
from hashbench.learning.steps import Step, interpolate, project, squared_distances, subtract

SMALLEST = 1e-9  # eigenvalues below it are 0 up to rounding


class Settings(ShallowSettings):
    """A component is clipped so that the share ``outliers`` of the examples lies beyond either end of its histogram."""

    t: float = Field(gt=0)  # sigma is so many times the mean distance of the examples to their nearest ``neighbours``
    neighbours: int = Field(ge=1)
    bins: int = Field(ge=2)
    outliers: float = Field(ge=0, lt=0.5)
    floor: float = Field(gt=0)  # times the mean number of examples in a bin: added to each


@dataclass(frozen=True, eq=False)
class Eigenfunctions(HashFunction):
    """Activations are functions of (features - mean) @ axes, interpolated between ``points`` and constant beyond."""

    mean: Floats  # [d]
    axes: Floats  # [d, bits]
    points: Floats  # [bits, bins], ascending
    values: Floats  # [bits, bins]

    def steps(self) -> list[Step]:
        """The steps from features [n, d] to activations [n, bits]."""
        projected = [Step(subtract, {"by": self.mean}), Step(project, {"weights": self.axes})]
        return [*projected, Step(interpolate, {"points": self.points, "values": self.values})]


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Eigenfunctions:  # noqa: ARG001
    mean, axes = principal_components(features)
    axes = axes[:, : settings.bits]
    sigma = settings.t * mean_distance(features, settings.neighbours)
    histograms = [histogram(x, settings) for x in ((features - mean) @ axes).T]
    by_axis = [eigenfunctions(points, counts, sigma) for points, counts in histograms]
    values = np.concatenate([values for values, _ in by_axis])
    require_bits(settings.bits, int((values > SMALLEST).sum()), f"eigenfunctions at t = {settings.t:g}")
    chosen = np.argsort(-values, kind="stable")[: settings.bits]
    axis = np.repeat(np.arange(len(by_axis)), settings.bins - 1)[chosen]
    points = np.stack([points for points, _ in histograms])
    functions = np.concatenate([functions for _, functions in by_axis])
    return Eigenfunctions(mean, axes[:, axis], points[axis], functions[chosen], weights=values[chosen])


def mean_distance(features: Floats, neighbours: int) -> float:
    """The mean distance of an example to its ``neighbours`` nearest others, or to all others if they are fewer."""
    distances = squared_distances(features, features)
    np.fill_diagonal(distances, np.inf)
    nearest = min(neighbours, len(features) - 1)
    return float(np.sqrt(np.partition(distances, nearest - 1)[:, :nearest]).mean())


def histogram(x: Floats, settings: Settings) -> tuple[Floats, Floats]:
    """The centres of the bins of ``x`` [n], and the number of examples in each plus the floor."""
    low, high = np.quantile(x, [settings.outliers, 1 - settings.outliers])
    counts, edges = np.histogram(np.clip(x, low, high), settings.bins, (low, high))
    return (edges[1:] + edges[:-1]) / 2, counts + settings.floor * len(x) / settings.bins


def eigenfunctions(points: Floats, counts: Floats, sigma: float) -> tuple[Floats, Floats]:
    """Eigenvalues [bins - 1], first the largest, and functions [bins - 1, bins] at ``points``, without a constant."""
    # of D^-1 K, K_ij = counts_i counts_j exp(-(x_i - x_j)^2 / (2 sigma^2)), D the diagonal matrix of its row sums
    affinity = np.exp(np.square(points[:, None] - points) / (-2 * sigma**2)) * counts[:, None] * counts
    root = np.sqrt(affinity.sum(axis=1))
    values, vectors = np.linalg.eigh(affinity / root[:, None] / root)
    return values[-2::-1], (vectors[:, -2::-1] / root[:, None]).T


METHOD = shallow_method(Settings, _fit, Eigenfunctions)
