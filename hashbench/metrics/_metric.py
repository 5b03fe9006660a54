"""What a metric declares: one file of this folder exports one ``METRIC``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError, unknown
from hashbench.histogram import Histogram
from hashbench.metrics._name import AtKind, MetricName

EXAMPLES: dict[AtKind, str] = {"rank": "@100", "radius": "@r2 (Hamming radius 2)", "n_relevant": "@r (rank N+)"}


@dataclass(frozen=True)
class Metric:
    """A closed form of the histogram.

    ``evaluate(histogram, name)`` gives float64[q], each in [0, 1] up to rounding; what it gives for a query
    without relevant items is ignored. It is asked only for names that ``accept`` let through.
    """

    summary: str
    paper: str  # the key of the paper that defines it
    evaluate: Callable[[Histogram, MetricName], NDArray[np.float64]]
    at: tuple[AtKind, ...] = ()  # the cutoffs it takes
    at_required: bool = False
    # values a parameter may have, the default first; a parameter speaks of the cutoff, so it needs one
    parameters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    over_radii: bool = False  # its points are the Hamming radii, whatever the cutoff
    together: bool = False  # a query's value depends on the other queries

    def setting(self, name: MetricName, key: str) -> str:
        """The value of parameter ``key`` in ``name``, or its default."""
        return dict(name.parameters).get(key, self.parameters[key][0])

    def accept(self, name: MetricName) -> MetricName:
        """``name`` without the parameters at their defaults; raises HashbenchError where it asks for what is not."""
        self._check_at(name)
        for key, value in name.parameters:
            if key not in self.parameters:
                raise unknown(f"parameter of metric {name.metric}", key, self.parameters)
            if value not in self.parameters[key]:
                raise unknown(f"{key} of metric {name.metric}", value, self.parameters[key])
            if name.at is None:
                raise HashbenchError(f"metric '{name}': {key} needs a cutoff, as in {name}@100")
        changed = tuple((key, value) for key, value in name.parameters if value != self.parameters[key][0])
        return MetricName(name.metric, changed, name.at)

    def _check_at(self, name: MetricName) -> None:
        ways = " or ".join(f"{name.metric}{EXAMPLES[kind]}" for kind in self.at)
        if name.at is None:
            if self.at_required:
                raise HashbenchError(f"metric '{name}': a cutoff is required: {ways}")
        elif name.at.kind not in self.at:
            hint = f"write {ways}" if ways else f"write {name.metric}"
            raise HashbenchError(f"metric '{name}': {name.metric} does not take {name.at}: {hint}")
