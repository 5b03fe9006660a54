"""What was counted of queries against a database: all that scores, diagnostics and hints are computed from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from hashbench.evaluation.diagnostics import Tally
from hashbench.evaluation.scores import Empty, Scores
from hashbench.histogram import Histogram
from hashbench.histogram.ties import Policy
from hashbench.metrics import Metrics, evaluate_with_extremes


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
        """The evidence of both parts of a database; this one cannot be used any more.

        Histograms add up exactly. Whether the parts together are the queries is not known, so ``is_same`` is False.
        """
        assert self.tally is not None and other.tally is not None, "parts of a database are inspected"
        self.tally.merge(other.tally)
        without_class = self.without_class[0], self.without_class[1] + other.without_class[1]
        counted, n_items = self.histogram + other.histogram, self.n_items + other.n_items
        return Evidence(counted, n_items, self.tally, without_class, n_excluded=self.n_excluded + other.n_excluded)

    def scores(self, metrics: Metrics, *, ties: Policy = "expected", empty: Empty = "skip") -> Scores:
        """The scores of ``metrics``; ``ties="order"`` needs the items themselves: a ``Scorer`` has it."""
        found = evaluate_with_extremes(self.histogram, metrics, ties)
        return Scores(self.histogram.n_queries, self.n_items, self.histogram.n_bits, ties, empty, found)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The histogram and the tally as arrays by name; ``of_arrays`` makes evidence of them again."""
        tally = {} if self.tally is None else self.tally.arrays()
        return {"counts": self.histogram.counts, "levels": self.histogram.levels, **tally}

    @staticmethod
    def of_arrays(arrays: Mapping[str, NDArray[Any]], without_class: tuple[int, int]) -> "Evidence":
        """The evidence whose ``arrays`` these are."""
        tally = Tally.of_arrays(arrays)
        return Evidence(Histogram(arrays["counts"], arrays["levels"]), tally.n_items, tally, without_class)
