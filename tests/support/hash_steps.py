"""Hash functions of random arrays, one for each kind of step, for the forms in which they are exported."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.learning import steps as s
from hashbench.learning.contract import BinaryHasher
from hashbench.learning.steps import Step, Steps

D = 12
BITS = 6
ANCHORS = 5


class OfSteps(BinaryHasher):
    """A hasher whose steps are given."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def as_steps(self) -> Steps:
        return self._steps

    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:
        return self._steps.activations(items)


def items(n: int = 200) -> NDArray[np.float32]:
    return (3 * np.random.default_rng(1).standard_normal((n, D))).astype(np.float32)


def hashers() -> dict[str, OfSteps]:
    """By name; together they use every operation."""
    random = np.random.default_rng(0)
    normal = random.standard_normal
    project = Step(s.project, {"weights": normal((D, BITS))})
    distances = Step(s.squared_distances, {"others": normal((ANCHORS, D))})
    of_anchors = Step(s.project, {"weights": normal((ANCHORS, BITS))})
    logits = Step(s.project, {"weights": normal((D, 4))})
    last = Step(s.project, {"weights": normal((BITS, BITS))})
    weights = Step(s.anchor_weights, {"nearest": np.asarray(3), "bandwidth": np.asarray(2.0)})
    layer = Step(s.second_layer, {"upper": normal(3), "lower": normal(3)})
    shape = BITS, 7, 3
    trees = {"features": random.integers(0, D, shape), "thresholds": normal(shape), "values": normal((BITS, 7, 4))}
    functions = {
        "linear": [Step(s.flatten, {}), Step(s.subtract, {"by": normal(D)}), Step(s.unit_norm, {}), project],
        "offset": [Step(s.divide, {"by": np.asarray(16.0)}), project, Step(s.add, {"by": normal(BITS)})],
        "kernel": [distances, Step(s.divide, {"by": np.asarray(-7.0)}), Step(s.exponential, {}), of_anchors],
        "anchors": [distances, weights, of_anchors, layer],
        "waves": [project, Step(s.multiply, {"by": normal(BITS)}), Step(s.cosine, {})],
        "curves": [project, Step(s.interpolate, {"points": np.sort(normal((BITS, 9))), "values": normal((BITS, 9))})],
        "bilinear": [Step(s.between_matrices, {"left": normal((3, 2)), "right": normal((4, 3))})],
        "circulant": [Step(s.convolve, {"kernel": normal(D), "bits": np.asarray(BITS)})],
        "classifier": [logits, Step(s.codeword, {"codewords": np.sign(normal((4, BITS)))})],
        "trees": [Step(s.trees, trees)],
        "perceptron": [Step(s.channels_first, {}), project, Step(s.positive_part, {}), last],
    }
    return {name: OfSteps(Steps(steps, "float64")) for name, steps in functions.items()}
