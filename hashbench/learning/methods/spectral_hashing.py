"""Spectral hashing: signs of the smoothest functions on the box around the data (Weiss, Torralba, Fergus 2008).

Section 4: they are sin(pi/2 + k pi (x - a) / (b - a)) on the principal axes, with sides b - a, and the smallest
k / (b - a). As in the authors' code, products over several axes are left out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._shallow import HashFunction, ShallowSettings, principal_components, shallow_method
from hashbench.learning.steps import Step, cosine, multiply, project, subtract


@dataclass(frozen=True, eq=False)
class BoxEigenfunctions(HashFunction):
    """activations = cos(frequency * ((features - mean) @ axes - start)), for each bit with the column of its axis."""

    mean: Floats  # [d]
    axes: Floats  # [d, bits]
    start: Floats  # [bits]
    frequency: Floats  # [bits]

    def steps(self) -> list[Step]:
        """The steps from features [n, d] to activations [n, bits]."""
        projected = [Step(subtract, {"by": self.mean}), Step(project, {"weights": self.axes})]
        angle = [Step(subtract, {"by": self.start}), Step(multiply, {"by": self.frequency})]
        return [*projected, *angle, Step(cosine, {})]


def _fit(settings: ShallowSettings, features: Floats, data: TrainingData) -> BoxEigenfunctions:  # noqa: ARG001
    mean, axes = principal_components(features)
    axes = axes[:, : settings.bits]
    projected = (features - mean) @ axes
    start = projected.min(axis=0)
    sides = np.ptp(projected, axis=0)
    axis, k = smoothest(sides, settings.bits)
    return BoxEigenfunctions(mean, axes[:, axis], start[axis], k * np.pi / sides[axis])


def smoothest(sides: Floats, bits: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The axis and the k >= 1 of each of the ``bits`` eigenfunctions with the smallest k / side, smallest first."""
    order = np.argsort(np.arange(1, bits + 1) / sides[:, None], axis=None, kind="stable")[:bits]
    axis, k = np.divmod(order, bits)
    return axis, k + 1


METHOD = shallow_method(ShallowSettings, _fit, BoxEigenfunctions)
