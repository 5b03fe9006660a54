"""What a metric declares: one file of this folder exports one ``METRIC``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError, unknown
from hashbench.histogram import Histogram
from hashbench.metrics._name import At, AtKind, MetricName
from hashbench.sparse.retrieval import Retrieval

EXAMPLES: dict[AtKind, str] = {"rank": "@100", "radius": "@r2 (Hamming radius 2)", "n_relevant": "@r (rank N+)"}


Source = TypeVar("Source", Histogram, Retrieval)


@dataclass(frozen=True)
class Metric(Generic[Source]):
    """A closed form of a histogram, or of a retrieval.

    ``evaluate(histogram, name)`` gives float64[q], each in [0, ``most``] up to rounding; what it gives for a query
    without relevant items is ignored. ``evaluate(retrieval, name)`` gives float64[q], or float64[] where it is one
    number of all queries together. It is asked only for names that ``accept`` let through.
    """

    summary: str
    paper: str  # the key of the paper that defines it
    evaluate: Callable[[Source, MetricName], NDArray[np.float64]]
    of: type[Histogram] | type[Retrieval] = Histogram  # what it is a closed form of
    at: tuple[AtKind, ...] = ()  # the cutoffs it takes
    at_required: bool = False
    ranks: tuple[int, ...] = ()  # the only ranks there are, the first being meant where none is said; empty: any
    most: float = 1.0
    # values a parameter may have, the default first; a parameter speaks of the cutoff, so it needs one
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    over_radii: bool = False  # its points are the Hamming radii, whatever the cutoff
    together: bool = False  # a query's value depends on the other queries
    is_bound: bool = False  # an end of what any order of ties gives: of two methods the larger is not the better one

    def rank(self, name: MetricName) -> int:
        """The rank that ``name`` stops at, one of ``ranks``."""
        return self.ranks[0] if name.at is None else name.at.value

    def setting(self, name: MetricName, key: str) -> str:
        """The value of parameter ``key`` in ``name``, or its default."""
        return dict(name.parameters).get(key, self.parameters[key][0])

    def accept(self, name: MetricName) -> MetricName:
        """``name`` without what is at its default; raises HashbenchError where it asks for what is not."""
        self._check_at(name)
        for key, value in name.parameters:
            if key not in self.parameters:
                raise unknown(f"parameter of metric {name.metric}", key, self.parameters)
            if value not in self.parameters[key]:
                raise unknown(f"{key} of metric {name.metric}", value, self.parameters[key])
            if name.at is None:
                raise HashbenchError(f"metric '{name}': {key} needs a cutoff, as in {name}@100")
        changed = tuple((key, value) for key, value in name.parameters if value != self.parameters[key][0])
        return MetricName(name.metric, changed, None if self._is_meant_anyway(name.at) else name.at)

    def _check_at(self, name: MetricName) -> None:
        ways = " or ".join(name.metric + example for example in self._examples())
        if name.at is None:
            if self.at_required:
                raise HashbenchError(f"metric '{name}': a cutoff is required: {ways}")
        elif name.at.kind not in self.at:
            hint = f"write {ways}" if ways else f"write {name.metric}"
            raise HashbenchError(f"metric '{name}': {name.metric} does not take {name.at}: {hint}")
        elif self.ranks and name.at.value not in self.ranks:
            raise HashbenchError(f"metric '{name}': there is no {name.at}: write {ways}")

    def _examples(self) -> list[str]:
        return [f"@{rank}" for rank in self.ranks] or [EXAMPLES[kind] for kind in self.at]

    def _is_meant_anyway(self, at: At | None) -> bool:
        return bool(self.ranks) and not self.at_required and at == At("rank", self.ranks[0])
