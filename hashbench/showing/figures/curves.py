"""Precision over the number of retrieved items, and precision against recall, from the histograms of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.running.runs.guard import not_here
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.histogram.curves import radius_curve, rank_curve
from hashbench.showing.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.showing.figures._drawing import WIDTHS_IN, Drawing, Figure, explain, legend, legend_height_in, nothing
from hashbench.showing.figures._looks import looks_of
from hashbench.showing.figures._panels import line_samples, require_one_cell_a_row
from hashbench.showing.sheet import Value
from hashbench.showing.tables.cell_runs import cell_hash
from hashbench.showing.tables.collect import kept_histogram
from hashbench.showing.tables.notation import least_to_most

HEIGHT_IN = 2.2  # of the panels
N_MARKS = 50  # places of a precision curve that are drawn and written
MARKS_EVERY = (10, 8)  # points of the line in each panel
X_LABELS = ("retrieved items", "recall")
EXPLANATION = (
    "{cell}; means over the queries and {runs}. Left: expected over the orders of ties. Right: one point for each "
    "Hamming radius."
)


class CurvesFile(CellsFile):
    """The keys of such a figure: one cell for each row, and how many of the items retrieved first are counted."""

    retrieved: int = Field(default=1000, ge=2)


@dataclass(frozen=True, eq=False)
class _Curve:
    """The mean over runs: precision at each x."""

    x: NDArray[Any]
    precision: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Series:
    """The lines of one cell: over the retrieved items, and against recall."""

    curves: tuple[_Curve, _Curve]
    n_runs: int

    def points(self, label: str) -> list[dict[str, Value]]:
        """The lines of the CSV."""
        return [
            {"curve": name, "series": label, "x": float(x), "precision": float(y), "n_runs": self.n_runs}
            for name, curve in zip(("retrieved", "recall"), self.curves, strict=True)
            for x, y in zip(curve.x, curve.precision, strict=True)
        ]


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of all runs whose histograms are here; where a cell has none, nothing is drawn or removed."""
    series: dict[str, _Series] = {}
    for cell in figure.cells:
        digest = cell_hash(cell)
        measured = [row for row in rows if row.cell_hash == digest and row.status == "ok"]
        kept = [histogram for row in measured if (histogram := kept_histogram(row, store)) is not None]
        if kept:
            series[cell.row] = _mean(kept, figure.file.retrieved)
        elif measured:  # the rows are kept in the repository, the working files are not
            first = min(measured, key=lambda row: row.seed)
            return nothing(f"not drawn here: {not_here(first, store)}", keeps_files=True)
    if not series:
        return nothing("nothing is measured; nothing is drawn")
    first_cell = figure.cells[0]
    width = WIDTHS_IN[figure.file.width]
    methods = {cell.row: cell.method for cell in figure.cells if cell.row in series}
    text = EXPLANATION.format(
        cell=f"{first_cell.dataset} {first_cell.protocol}, {first_cell.column}",
        runs=least_to_most([of_cell.n_runs for of_cell in series.values()], "run"),
    )
    n_cells = len(figure.cells)
    return Drawing(
        points=[point for label, of_cell in series.items() for point in of_cell.points(label)],
        size_in=(width, HEIGHT_IN + legend_height_in(len(series), width)),
        draw=partial(_draw, series, methods, text),
        n_measured=len(series),
        missing=None if len(series) == n_cells else f"{len(series)} of {n_cells} methods are measured",
    )


def _check(figure: FigureSpec) -> None:
    require_one_cell_a_row(figure)
    if len({(cell.section, cell.dataset, cell.protocol) for cell in figure.cells}) > 1:
        raise figure.error("several sections or data sets; a figure of curves shows one")
    if other := next((cell for cell in figure.cells if cell.evaluation in ("test", "asymmetric")), None):
        raise figure.error(f"row {other.row!r}: evaluation {other.evaluation} has no histogram to draw")


def _mean(histograms: Sequence[Histogram], retrieved: int) -> _Series:
    by_rank = [rank_curve(histogram, retrieved) for histogram in histograms]
    by_radius = [radius_curve(histogram) for histogram in histograms]
    n = by_rank[0]["n"]
    kept = np.unique(np.linspace(0, len(n) - 1, N_MARKS).round().astype(np.int64))
    recall = np.mean([curve["recall"] for curve in by_radius], axis=0)
    curves = (
        _Curve(n[kept], np.mean([curve["precision"][kept] for curve in by_rank], axis=0)),
        _Curve(recall, np.mean([curve["precision"] for curve in by_radius], axis=0)),
    )
    return _Series(curves, len(histograms))


def _draw(series: Mapping[str, _Series], methods: Mapping[str, str], text: str, figure: Figure) -> None:
    looks = looks_of(methods)
    panels = figure.subplots(1, 2)
    for label, of_cell in series.items():
        for ax, curve, every in zip(panels, of_cell.curves, MARKS_EVERY, strict=True):
            ax.plot(curve.x, curve.precision, **looks[label], linewidth=1, markersize=3, markevery=every)
    for ax, label in zip(panels, X_LABELS, strict=True):
        ax.set(xlabel=label, ylabel="precision", ylim=(0, None))
        ax.grid(axis="y")
    panels[1].set_xlim(0, 1)
    legend(figure, line_samples(looks))
    explain(figure, text)


KIND = Kind("precision over retrieved items and against recall, from the histograms of runs", CurvesFile, _fill, _check)
