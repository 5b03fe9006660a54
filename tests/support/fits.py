"""Training examples that are features, and the function that a method learns from them."""

from pathlib import Path
from typing import TypeVar

import numpy as np

from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import METHODS

F = TypeVar("F")


def data_of(features: np.ndarray, labels: np.ndarray | None = None, seed: int = 0) -> TrainingData:
    """The examples ``features`` [n, d]; all are of class 0 where no ``labels`` are given."""
    return TrainingData(features, np.zeros(len(features), np.int64) if labels is None else labels, 1.0, seed, Path())


def function_of(kind: type[F], method: str, settings: object, data: TrainingData) -> F:
    """The hash function, one of ``kind``, that ``method`` learns from ``data``."""
    function = METHODS.get(method).fit(settings, data).function  # type: ignore[attr-defined]
    assert isinstance(function, kind)
    return function
