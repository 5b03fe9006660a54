"""Training examples that are features, and what a method learns from them."""

from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from support.on_digits import on_digits

from hashbench.foundation.config import Setting
from hashbench.learning.contract import ItemRows, QuantisedOutput, SearchItems, TrainingData
from hashbench.learning.methods import METHODS

F = TypeVar("F")


def data_of(
    features: np.ndarray, labels: np.ndarray | None = None, seed: int = 0, metric: Literal["l2", "ip"] = "l2"
) -> TrainingData:
    """The examples ``features`` [n, d]; all are of class 0 where no ``labels`` are given."""
    classes = np.zeros(len(features), np.int64) if labels is None else labels
    return TrainingData(features, classes, 1.0, seed, Path(), metric=metric)


def function_of(kind: type[F], method: str, settings: object, data: TrainingData) -> F:
    """The hash function, one of ``kind``, that ``method`` learns from ``data``."""
    function = METHODS.get(method).fit(settings, data).function  # type: ignore[attr-defined]
    assert isinstance(function, kind)
    return function


def quantiser(
    method: str, items: np.ndarray, bits: int, seed: int = 0, metric: Literal["l2", "ip"] = "l2", **given: Setting
) -> Any:
    """The quantising hasher that ``method`` learns from ``items``."""
    return METHODS.get(method).fit(
        on_digits(method, {"bits": bits, **given}).settings, data_of(items, None, seed, metric)
    )


def quantised(hasher: Any, queries: np.ndarray, items: np.ndarray) -> QuantisedOutput:
    """The output of a quantiser; the items have three classes in turn."""
    both = np.concatenate([queries, items])
    ids = np.split(np.arange(len(both)), [len(queries)])
    output = hasher.output(SearchItems("toy", *(ItemRows(both, row_ids, row_ids % 3) for row_ids in ids)))
    assert isinstance(output, QuantisedOutput)
    return output
