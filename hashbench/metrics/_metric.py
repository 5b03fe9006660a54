"""What a metric declares: one file of this folder exports one ``METRIC``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.config import Strict
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.histogram import Histogram
from hashbench.histogram.retrieval import Retrieval
from hashbench.metrics._name import Cutoff, CutoffKind, MetricName

EXAMPLES: dict[CutoffKind, str] = {"rank": "@100", "radius": "@r2 (Hamming radius 2)", "n_relevant": "@r (rank N+)"}


class MetricValue(Strict):
    """Mean and standard deviation of a metric over the queries of a run; None if every query is empty.

    They are fractions, except for a speed-up. A metric that is a single number for all queries has a mean and no std.
    """

    mean: float | None
    std: float | None
    n_queries: int  # all queries
    n_empty: int  # queries without a relevant item, left out of the mean


Source = TypeVar("Source", Histogram, Retrieval)


@dataclass(frozen=True)
class Metric(Generic[Source]):
    """A metric: a formula computed from a histogram, or from a retrieval (the result of a bucket search).

    ``evaluate(histogram, name)`` returns float64[q], each value in [0, ``maximum``] up to rounding; the values of
    queries without a relevant item are ignored. ``evaluate(retrieval, name)`` returns float64[q], or float64[] if the
    metric is a single number for all queries. It is called only with names that ``accept`` has checked.
    """

    summary: str
    paper: str  # the key of the paper that defines it
    evaluate: Callable[[Source, MetricName], NDArray[np.float64]]
    source: type[Histogram] | type[Retrieval] = Histogram  # what it is computed from
    cutoffs: tuple[CutoffKind, ...] = ()  # the kinds of cutoff that it accepts
    cutoff_required: bool = False
    ranks: tuple[int, ...] = ()  # the only ranks that it accepts, the first is the default; empty: every rank
    maximum: float = 1.0  # the largest possible value
    # the values that each parameter accepts, the default first; a parameter changes only a metric with a cutoff
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    over_radii: bool = False  # it is computed at every Hamming radius, with or without a cutoff
    needs_all_queries: bool = False  # the value of a query depends on the other queries
    is_bound: bool = False  # it is the best or the worst value over the orders of tied items, so it ranks no methods

    def rank(self, name: MetricName) -> int:
        """The cutoff rank of ``name``, one of ``ranks``; the first of them if ``name`` has no cutoff."""
        return self.ranks[0] if name.cutoff is None else name.cutoff.value

    def setting(self, name: MetricName, key: str) -> str:
        """The value of parameter ``key`` in ``name``, or its default."""
        return dict(name.parameters).get(key, self.parameters[key][0])

    def accept(self, name: MetricName) -> MetricName:
        """``name`` without the parameters and the cutoff that are at their defaults.

        Raises HashbenchError for an unknown parameter or value, a parameter without a cutoff, a missing cutoff, and a
        cutoff that the metric does not accept.
        """
        self._check_cutoff(name)
        for key, value in name.parameters:
            if key not in self.parameters:
                raise unknown(f"parameter of metric {name.metric}", key, self.parameters)
            if value not in self.parameters[key]:
                raise unknown(f"{key} of metric {name.metric}", value, self.parameters[key])
            if name.cutoff is None:
                raise HashbenchError(f"metric '{name}': {key} needs a cutoff, as in {name}@100")
        changed = tuple((key, value) for key, value in name.parameters if value != self.parameters[key][0])
        return MetricName(name.metric, changed, None if self._is_default(name.cutoff) else name.cutoff)

    def _check_cutoff(self, name: MetricName) -> None:
        ways = " or ".join(name.metric + example for example in self._examples())
        if name.cutoff is None:
            if self.cutoff_required:
                raise HashbenchError(f"metric '{name}': a cutoff is required: {ways}")
        elif name.cutoff.kind not in self.cutoffs:
            hint = f"write {ways}" if ways else f"write {name.metric}"
            raise HashbenchError(f"metric '{name}': {name.metric} does not take {name.cutoff}: {hint}")
        elif self.ranks and name.cutoff.value not in self.ranks:
            raise HashbenchError(f"metric '{name}': there is no {name.cutoff}: write {ways}")

    def _examples(self) -> list[str]:
        return [f"@{rank}" for rank in self.ranks] or [EXAMPLES[kind] for kind in self.cutoffs]

    def _is_default(self, cutoff: Cutoff | None) -> bool:
        return bool(self.ranks) and not self.cutoff_required and cutoff == Cutoff("rank", self.ranks[0])
