"""Precision over the number of retrieved items, and precision against recall, from the histograms of runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.errors import HashbenchError
from hashbench.figures._drawing import WIDTHS_IN, Drawing, explain
from hashbench.figures._file import CellsFile
from hashbench.figures._kind import FigureSpec, Kind
from hashbench.histogram import Histogram
from hashbench.histogram.curves import radius_curve, rank_curve
from hashbench.runs.store import Row, Store
from hashbench.tables.cell import Cell
from hashbench.tables.collect import cell_hash, kept_histogram
from hashbench.tables.csv_field import Value
from hashbench.tables.render_png import RowStyle, styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_MARKS = 50  # places of a precision curve that are drawn and written
HEIGHT_IN, LEGEND_IN, LABEL_IN = 2.2, 0.14, 1.1  # of the panels, of a line of the legend; the width of a label there

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
            _line(by_rank, of.n, of.precision, looks[label], every=10)
            _line(by_recall, of.recall_of_radius, of.precision_of_radius, looks[label], every=8)
        by_rank.set(xlabel="retrieved items", ylabel="precision", ylim=(0, None))
        by_recall.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, None))
        for ax in (by_rank, by_recall):
            ax.grid(axis="y")
        _legend(figure, looks)
        explain(figure, self.explanation)


def fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of all runs whose histograms are here; where one has none, nothing is drawn or removed."""
    file = _file(figure)
    assert figure.cells is not None
    try:
        curves = dict(_curves(figure.cells.cells, rows, store, file.retrieved))
    except HashbenchError as error:  # the rows are kept in the repository, the histograms are not
        return Drawing([], (0, 0), _draw_nothing, 0, f"not drawn here: {error}", keeps_files=True)
    if not curves:
        return Drawing([], (0, 0), _draw_nothing, 0, "nothing is measured; nothing is drawn")
    drawn = _Panels(curves, _explanation(figure.cells.cells[0], curves))
    width = WIDTHS_IN[file.width]
    n, n_cells = len(curves), len(figure.cells.cells)
    return Drawing(
        points=[line for label, of in curves.items() for line in _lines(label, of)],
        size_in=(width, HEIGHT_IN + LEGEND_IN * -(-n // _columns(width))),
        draw=drawn.draw,
        n_measured=n,
        missing=None if n == n_cells else f"{n} of {n_cells} methods are measured",
    )


def check(figure: FigureSpec) -> None:
    """Raises HashbenchError unless each row has one cell, all in one section and on one database."""
    assert figure.cells is not None
    cells = figure.cells.cells
    labels = [cell.row for cell in cells]
    if again := next((label for label in labels if labels.count(label) > 1), None):
        raise figure.error(f"row {again!r} has several cells; a figure of curves draws one run of each row")
    if len({(cell.section, cell.dataset, cell.protocol) for cell in cells}) > 1:
        raise figure.error("several sections or data sets; a figure of curves shows one")
    if other := next((cell for cell in cells if cell.evaluation == "test"), None):
        raise figure.error(f"row {other.row!r}: evaluation {other.evaluation} has no histogram to draw")


def _file(figure: FigureSpec) -> CurvesFile:
    assert isinstance(figure.file, CurvesFile)
    return figure.file


def _draw_nothing(_: "Figure") -> None:
    pass


def _curves(cells: Sequence[Cell], rows: Sequence[Row], store: Store, n: int) -> Iterator[tuple[str, _Curves]]:
    """The curves of each measured cell by the label of its row.

    Raises HashbenchError where a cell is measured and none of its histograms is here.
    """
    from hashbench.runs.fit import not_here

    for cell in cells:
        digest = cell_hash(cell)
        measured = [row for row in rows if row.cell_hash == digest and row.status == "ok"]
        histograms = [found for row in measured if (found := kept_histogram(row, store)) is not None]
        if measured and not histograms:
            raise not_here(min(measured, key=lambda row: row.seed), store)
        if histograms:
            yield cell.row, _mean([_of_run(histogram, n) for histogram in histograms])


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
    counts = {of.n_runs for of in curves.values()}
    least, most = min(counts), max(counts)
    runs = f"{most} run{'s' if most > 1 else ''}" if least == most else f"{least} to {most} runs"
    return (
        f"{cell.dataset} {cell.protocol}, {cell.column}; means over the queries and {runs}. Left: expected over the "
        "orders of ties. Right: one point for each Hamming radius."
    )


def _line(ax: "Axes", x: NDArray[np.generic], y: Floats, look: RowStyle, every: int) -> None:
    ax.plot(
        x, y, color=look.colour, marker=look.marker, linestyle=look.line, linewidth=1, markersize=3, markevery=every
    )


def _columns(width_in: float) -> int:
    return max(2, int(width_in / LABEL_IN))


def _legend(figure: "Figure", looks: Mapping[str, RowStyle]) -> None:
    """The rows above the panels, in the order of the figure's file."""
    lines = figure.axes[0].get_lines()
    figure.legend(
        lines,
        list(looks),
        loc="outside upper left",
        ncols=_columns(figure.get_figwidth()),
        frameon=False,
        handlelength=2.6,
        columnspacing=1.2,
        borderaxespad=0.1,
    )


KIND = Kind("precision over retrieved items and against recall, from the histograms of runs", CurvesFile, fill, check)
