"""The metrics of a run, computed again from its counts and held against those of its row."""

import math
from collections.abc import Iterable, Iterator, Mapping

from hashbench import metrics
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.histogram import Histogram
from hashbench.histogram.retrieval import Retrieval
from hashbench.metrics import Metrics, MetricValue, NamedMetric

ROUNDING = 1e-9  # another machine may round a sum in another way
Values = Mapping[str, MetricValue]


def computed(counts: Histogram | Retrieval, stated: Values) -> dict[str, MetricValue]:
    """The values of those of the ``stated`` metrics that are computed from such counts."""
    return metrics.mean_values(counts, _known(stated).where(lambda metric: metric.entry.source is type(counts)))


def computed_of_rankings(rankings: Iterable[Histogram], stated: Values) -> dict[str, MetricValue]:
    """The values of the ``stated`` metrics, of rankings by the weighted Hamming distance."""
    return metrics.mean_values(rankings, _known(stated))


def _known(names: Iterable[str]) -> Metrics:
    return Metrics.parse(filter(is_known, names), source=None)


def is_known(name: str) -> bool:
    """Whether this hashbench, with the packages beside it, has the metric."""
    try:
        return str(NamedMetric.parse(name)) == name
    except HashbenchError:
        return False


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
