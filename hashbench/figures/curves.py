"""Precision over the number of retrieved items, and precision against recall, from the histograms of runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.figures import _of_runs
from hashbench.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.figures._drawing import Drawing
from hashbench.figures._panels import Look
from hashbench.histogram import Histogram
from hashbench.histogram.curves import radius_curve, rank_curve
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.tables.collect import kept_histogram
from hashbench.tables.render_csv import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_MARKS = 50  # places of a precision curve that are drawn and written
AXES = (
    {"xlabel": "retrieved items", "ylabel": "precision", "ylim": (0, None)},
    {"xlabel": "recall", "ylabel": "precision", "xlim": (0, 1), "ylim": (0, None)},
)
EXPLANATION = (
    "{cell}; means over the queries and {runs}. Left: expected over the orders of ties. Right: one point for each "
    "Hamming radius."
)

Floats = NDArray[np.float64]


class CurvesFile(CellsFile):
    """The keys of such a figure: one cell for each row, and how many of the items retrieved first are counted."""

    retrieved: int = Field(default=1000, ge=2)


@dataclass(frozen=True, eq=False)
class _Curves:
    """The curves of one method, means over its runs: x and precision of each panel; ``n`` is a number of items."""

    n: NDArray[np.int64]
    precision: Floats
    recall_of_radius: Floats
    precision_of_radius: Floats
    n_runs: int

    def lines(self, label: str) -> Iterator[dict[str, Value]]:
        """The lines of the CSV, first for the first panel."""
        panels = ("retrieved", self.n, self.precision), ("recall", self.recall_of_radius, self.precision_of_radius)
        for curve, xs, precisions in panels:
            for x, precision in zip(xs, precisions, strict=True):
                place: dict[str, Value] = {"curve": curve, "series": label, "x": float(x)}
                yield {**place, "precision": float(precision), "n_runs": self.n_runs}

    def draw(self, left: "Axes", right: "Axes", look: Look) -> None:
        """Draws precision by rank, and precision by recall."""
        _of_runs.draw_line(left, self.n, self.precision, look, every=10)
        _of_runs.draw_line(right, self.recall_of_radius, self.precision_of_radius, look, every=8)


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of all runs whose histograms are here; where a cell has none, nothing is drawn or removed."""
    read, mean = partial(kept_histogram, store=store), partial(_mean, retrieved=figure.file.retrieved)
    return _of_runs.fill(figure, rows, store, read=read, mean=mean, axes=AXES, explanation=EXPLANATION)


def _check(figure: FigureSpec) -> None:
    _of_runs.check(figure)
    if other := next((cell for cell in figure.cells if cell.evaluation == "test"), None):
        raise figure.error(f"row {other.row!r}: evaluation {other.evaluation} has no histogram to draw")


def _mean(histograms: Sequence[Histogram], retrieved: int) -> _Curves:
    """The mean of the curves of several runs of one cell, place by place."""
    by_rank = [rank_curve(histogram, retrieved) for histogram in histograms]
    by_radius = [radius_curve(histogram) for histogram in histograms]
    n = by_rank[0].n
    kept = np.unique(np.linspace(0, len(n) - 1, N_MARKS).round().astype(np.int64))
    return _Curves(
        n=n[kept],
        precision=np.mean([curve.precision[kept] for curve in by_rank], axis=0),
        recall_of_radius=np.mean([curve.recall for curve in by_radius], axis=0),
        precision_of_radius=np.mean([curve.precision for curve in by_radius], axis=0),
        n_runs=len(histograms),
    )


KIND = Kind("precision over retrieved items and against recall, from the histograms of runs", CurvesFile, _fill, _check)
