"""The settings of DTSH and HashNet against those of the released code, which are written out here once more."""

from pathlib import Path

import numpy as np
from support.one_line import one_line

from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import METHODS
from hashbench.running.runs.run import Run
from hashbench.scoring.relevance.distances import DistanceRelevance

# train_val.prototxt and solver.prototxt: base_lr, class_num


def test_continuous_similarity_needs_labels() -> None:
    chosen = Run.resolve(
        "labelme", "s1", "hashnet", {"bits": 8, "model": "linear", "continuous_similarity": True}
    ).settings
    items = np.arange(8, dtype=np.float32)[:, None].repeat(512, 1)
    near = DistanceRelevance(items, items, (30.0,), (1,))
    data = TrainingData(items, np.zeros((8, 0), np.uint8), 1.0, 0, Path("nowhere"), relevance=near)
    with one_line(r"^hashnet weighs pairs by the labels they share, .* = false$"):
        METHODS.get("hashnet").fit(chosen, data)
