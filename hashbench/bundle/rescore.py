"""The metrics of a run, computed again from its counts and held against those of its row."""

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from hashbench import metrics
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.histogram import Histogram
from hashbench.metrics import METRICS, MetricValue
from hashbench.sparse.retrieval import Retrieval

ROUNDING = 1e-9  # another machine may round a sum in another way
Values = Mapping[str, MetricValue]


def computed(counts: Histogram | Retrieval, stated: Values) -> dict[str, MetricValue]:
    """The values of those of the ``stated`` metrics that are computed from such counts."""
    names = [name for name in stated if is_known(name) and METRICS.get(stem(name)).source is type(counts)]
    if isinstance(counts, Retrieval):
        return metrics.evaluate_retrieval(counts, names)
    return _summarised(metrics.evaluate(counts, names))


def computed_of_rankings(rankings: Iterable[Histogram], stated: Values) -> dict[str, MetricValue]:
    """The values of the ``stated`` metrics, of rankings by the weighted Hamming distance."""
    return _summarised(metrics.evaluate_rankings(rankings, [name for name in stated if is_known(name)]))


def _summarised(values: Mapping[str, NDArray[np.float64]]) -> dict[str, MetricValue]:
    return {name: metrics.summarise(of_queries) for name, of_queries in values.items()}


def is_known(name: str) -> bool:
    """Whether this hashbench, with the packages beside it, has the metric."""
    try:
        return str(metrics.parse(name)) == name
    except HashbenchError:
        return False


def stem(name: str) -> str:
    """The metric's name without parameters and cutoff."""
    return metrics.read_name(name).metric


def differences(field: str, stated: Values, found: Values, by: str) -> Iterator[str]:
    """One line for each part of a value that is not the one that was ``found``, which ``by`` gives."""
    for name, value in found.items():
        for part, number in value.model_dump().items():
            told = getattr(stated[name], part)
            if not _equal(told, number):
                yield f"{field}.{printable(name)}.{part} is {_shown(told)}, {by} gives {_shown(number)}"


def _equal(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING)


def _shown(number: float | None) -> str:
    return "none" if number is None else f"{number:.10g}"
