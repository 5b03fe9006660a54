"""Precision over the number of retrieved items, and precision against recall, from the histograms of runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.figures import _legend, _of_runs, _two_panels
from hashbench.figures._drawing import Drawing, explain
from hashbench.figures._file import CellsFile
from hashbench.figures._kind import FigureSpec, Kind
from hashbench.histogram import Histogram
from hashbench.histogram.curves import radius_curve, rank_curve
from hashbench.runs.store import Row, Store
from hashbench.tables.cell import Cell
from hashbench.tables.collect import kept_histogram
from hashbench.tables.csv_field import Value
from hashbench.tables.render_png import styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_MARKS = 50  # places of a precision curve that are drawn and written

Floats = NDArray[np.float64]


class CurvesFile(CellsFile):
    """The keys of such a figure: one cell for each row, and how many of the items retrieved first are counted."""

    retrieved: int = Field(default=1000, ge=2)


@dataclass(frozen=True, eq=False)
class _Curves:
    """The curves of one method, means over its runs; ``n`` is the number of items retrieved."""

    n: NDArray[np.int64]
    precision: Floats
    recall_of_radius: Floats
    precision_of_radius: Floats
    n_runs: int


@dataclass(frozen=True)
class _Panels:
    """The two panels, whose lines have one legend."""

    curves: Mapping[str, _Curves]
    explanation: str

    def draw(self, figure: "Figure") -> None:
        looks = styles(self.curves)
        by_rank, by_recall = figure.subplots(1, 2)
        for label, of in self.curves.items():
            _two_panels.line(by_rank, of.n, of.precision, looks[label], every=10)
            _two_panels.line(by_recall, of.recall_of_radius, of.precision_of_radius, looks[label], every=8)
        by_rank.set(xlabel="retrieved items", ylabel="precision", ylim=(0, None))
        by_recall.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, None))
        for ax in (by_rank, by_recall):
            ax.grid(axis="y")
        _legend.draw(figure, dict(zip(looks, by_rank.get_lines(), strict=True)))
        explain(figure, self.explanation)


def fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of all runs whose histograms are here; where a cell has none, nothing is drawn or removed."""
    return _of_runs.unless_not_here(lambda: _filled(figure, rows, store))


def check(figure: FigureSpec) -> None:
    """Raises HashbenchError unless each row has one cell, all in one section and on one database."""
    _of_runs.check(figure)
    if other := next((cell for cell in _of_runs.cells_of(figure) if cell.evaluation == "test"), None):
        raise figure.error(f"row {other.row!r}: evaluation {other.evaluation} has no histogram to draw")


def _filled(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing | None:
    assert isinstance(figure.file, CurvesFile)
    n = figure.file.retrieved
    found = _of_runs.found(figure, rows, store, lambda row: kept_histogram(row, store))
    curves = {label: _mean([_of_run(histogram, n) for histogram in histograms]) for label, histograms in found}
    if not curves:
        return None
    panels = _Panels(curves, _explanation(_of_runs.cells_of(figure)[0], curves))
    return _two_panels.drawing(figure, curves, _lines, panels.draw)


def _of_run(histogram: Histogram, n: int) -> _Curves:
    by_rank, by_radius = rank_curve(histogram, n), radius_curve(histogram)
    kept = np.unique(np.linspace(0, len(by_rank.n) - 1, N_MARKS).round().astype(np.int64))
    return _Curves(by_rank.n[kept], by_rank.precision[kept], by_radius.recall, by_radius.precision, 1)


def _mean(runs: Sequence[_Curves]) -> _Curves:
    """The mean of the curves of several runs of one cell, place by place."""
    return _Curves(
        n=runs[0].n,
        precision=np.mean([run.precision for run in runs], axis=0),
        recall_of_radius=np.mean([run.recall_of_radius for run in runs], axis=0),
        precision_of_radius=np.mean([run.precision_of_radius for run in runs], axis=0),
        n_runs=len(runs),
    )


def _lines(label: str, of: _Curves) -> Iterator[dict[str, Value]]:
    """The lines of the CSV: those of the first panel, then those of the second."""
    for n, precision in zip(of.n, of.precision, strict=True):
        yield {"curve": "retrieved", "series": label, "x": float(n), "precision": float(precision), "n_runs": of.n_runs}
    for recall, precision in zip(of.recall_of_radius, of.precision_of_radius, strict=True):
        yield {
            "curve": "recall",
            "series": label,
            "x": float(recall),
            "precision": float(precision),
            "n_runs": of.n_runs,
        }


def _explanation(cell: Cell, curves: Mapping[str, _Curves]) -> str:
    runs = _of_runs.how_many(of.n_runs for of in curves.values())
    return (
        f"{cell.dataset} {cell.protocol}, {cell.column}; means over the queries and {runs}. Left: expected over the "
        "orders of ties. Right: one point for each Hamming radius."
    )


KIND = Kind("precision over retrieved items and against recall, from the histograms of runs", CurvesFile, fill, check)
