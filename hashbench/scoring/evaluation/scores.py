"""``Scores``, which ``hashbench.score`` returns and ``hashbench eval`` prints, and their ``Evidence``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.evaluation.curves import figure_of_curves
from hashbench.scoring.evaluation.diagnostics import Tally
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.histogram.ties import Policy
from hashbench.scoring.metrics import (
    Metrics,
    MetricValue,
    NamedMetric,
    PerQuery,
    evaluate_with_extremes,
    summarise,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Empty = Literal["skip", "zero"]


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Mapping[str, float | None]):
    """The mean of each metric over the queries, by metric name; None if no query has a relevant item.

    ``value`` adds the standard deviation of a metric, ``interval`` its range over the orders of tied items, and
    ``per_query`` the value of each query. ``str()`` is the table of all metrics.
    """

    n_queries: int
    n_database: int
    n_bits: int
    ties: Policy
    empty: Empty
    metrics: Mapping[str, PerQuery]  # by canonical name, in the order in which they were named
    histogram: Histogram | None = None  # what they were computed from; None with weights of the bits

    def __getitem__(self, name: str) -> float | None:
        return self.value(name).mean

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._canonical(name) in self.metrics

    def value(self, name: str) -> MetricValue:
        """Mean and standard deviation over the queries, the number of queries, and how many have no relevant item."""
        return self._summary(self._of(name).values)

    def interval(self, name: str) -> tuple[float, float] | None:
        """The means in the worst and in the best order of the tied items; None if the metric has no such range."""
        values = self._of(name)
        if values.worst is None or values.best is None:
            return None
        worst = self._summary(values.worst).mean
        best = self._summary(values.best).mean
        if worst is None or best is None:
            return None
        return worst, best

    def per_query(self, name: str) -> Floats:
        """The value of each query, float64[q]; NaN where a query has no relevant item (0 with ``empty="zero"``)."""
        return self._filled(self._of(name).values)

    def row(self, name: str) -> dict[str, Any]:
        """Mean, std, n_queries and n_empty of a metric, and the ends of its range: ``worst`` and ``best``, or None."""
        worst, best = self.interval(name) or (None, None)
        return {**self.value(name).model_dump(), "worst": worst, "best": best}

    def to_dict(self) -> dict[str, Any]:
        """Everything but the values of each query, as numbers, texts and None: ``json.dumps`` takes it as it is."""
        sizes = {"n_queries": self.n_queries, "n_database": self.n_database, "n_bits": self.n_bits}
        return {**sizes, "ties": self.ties, "empty": self.empty, "metrics": {name: self.row(name) for name in self}}

    def plot(self) -> "Figure":
        """Precision against recall and precision of the first N, as ``hashbench eval --curves`` draws them.

        It is a figure of matplotlib, ``scores.plot().savefig("curves.png")`` writes it. Raises HashbenchError where no
        query has a relevant item, and for scores with ``weights``, of which no histogram is counted.
        """
        if self.histogram is None:
            raise HashbenchError("plot: curves are of a histogram of Hamming distances: score without weights")
        return figure_of_curves(self.histogram)

    def _of(self, name: str) -> PerQuery:
        return self.metrics[self._canonical(name)]

    def _canonical(self, name: str) -> str:
        if name in self.metrics:
            return name
        try:
            return str(NamedMetric.parse(name))
        except HashbenchError:
            return name  # a KeyError will name it

    def _filled(self, values: Floats) -> Floats:
        if self.empty == "zero":
            return np.nan_to_num(values, nan=0.0)
        return values

    def _summary(self, values: Floats) -> MetricValue:
        summary = summarise(self._filled(values))
        return summary.model_copy(update={"n_empty": int(np.isnan(values).sum())})

    def __repr__(self) -> str:
        # to print scores is the one thing of scoring that needs what shows them
        from hashbench.showing.evaluation import lines_of

        about = f"{self.n_queries} queries, {self.n_database} items, {self.n_bits} bits, ties={self.ties!r}"
        return "\n".join([f"Scores({about})", *lines_of(self)])


@dataclass(frozen=True, eq=False)
class Evidence:
    """The histogram of some queries against ``n_items`` items of a database, and what the codes themselves tell."""

    histogram: Histogram
    n_items: int
    tally: Tally | None = None  # the diagnostics of the database codes, where they were inspected
    without_class: tuple[int, int] = (0, 0)  # queries and items
    is_same: bool = False  # the database is the queries themselves, in their order
    n_excluded: int = 0  # queries that are left out of their own ranking

    def merged(self, other: "Evidence") -> "Evidence":
        """The evidence of both parts of a database, exactly, ``is_same`` unknown; this one cannot be used any more."""
        assert self.tally is not None and other.tally is not None, "parts of a database are inspected"
        self.tally.merge(other.tally)
        return Evidence(
            self.histogram + other.histogram,
            self.n_items + other.n_items,
            self.tally,
            (self.without_class[0], self.without_class[1] + other.without_class[1]),
            n_excluded=self.n_excluded + other.n_excluded,
        )

    def scores(self, metrics: Metrics, *, ties: Policy = "expected", empty: Empty = "skip") -> Scores:
        """The scores of ``metrics``; ``ties="order"`` needs the items themselves: a ``Scorer`` has it."""
        values = evaluate_with_extremes(self.histogram, metrics, ties)
        n_queries = self.histogram.n_queries
        return Scores(n_queries, self.n_items, self.histogram.n_bits, ties, empty, values, self.histogram)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The histogram and the tally as arrays by name; ``of_arrays`` makes evidence of them again."""
        arrays = {"counts": self.histogram.counts, "levels": self.histogram.levels}
        if self.tally is not None:
            arrays |= self.tally.arrays()
        return arrays

    @staticmethod
    def of_arrays(arrays: Mapping[str, NDArray[Any]], without_class: tuple[int, int]) -> "Evidence":
        """The evidence whose ``arrays`` these are."""
        tally = Tally.of_arrays(arrays)
        return Evidence(Histogram(arrays["counts"], arrays["levels"]), tally.n_items, tally, without_class)
