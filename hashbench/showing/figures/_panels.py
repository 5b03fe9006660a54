"""Cells as points, and the two kinds of panels that show them: a line for each row, or a dot for each row."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass

from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.showing.figures._declared import FigureSpec
from hashbench.showing.figures._drawing import Artist, Axes, Figure
from hashbench.showing.figures._looks import Look
from hashbench.showing.figures._matplotlib import lines
from hashbench.showing.sheet import Value
from hashbench.showing.tables import notation
from hashbench.showing.tables.cell import Cell
from hashbench.showing.tables.cell_runs import run_of
from hashbench.showing.tables.collect import collect
from hashbench.showing.tables.table import Measured, Table, TableCell

# no colours: these are of methods
DOT = "0.15"
HOLLOW = "0.5"
BAR = "0.88"
EDGE = "0.65"
# the columns of the CSV that hold what was measured
MEASURED = {"measured": "mean", "std": "std", "n_seeds": "n_seeds", "worst": "worst", "best": "best"}


@dataclass(frozen=True)
class Point:
    """A cell at its place on the x-axis (None: a panel without one); published, mean and std in the paper's unit."""

    x: int | None
    cell: TableCell
    is_best: bool = False

    @property
    def measured(self) -> Measured | None:
        return self.cell.measured

    @property
    def published(self) -> float | None:
        return self._scaled(self.cell.declared.published)

    @property
    def mean(self) -> float | None:
        return self._scaled(self.measured.mean if self.measured else None)

    @property
    def std(self) -> float:
        return self._scaled(self.measured.std if self.measured else None) or 0.0

    def _scaled(self, value: float | None) -> float | None:
        if value is None:
            return None
        return value * notation.scale(self.cell.declared.printed_as)


@dataclass(frozen=True)
class Panel:
    """One pair of axes: its series by label; the series of all panels together have one legend."""

    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[Point]]

    def points(self) -> Iterator[Point]:
        return (point for series in self.series.values() for point in series)

    @property
    def is_of_speed_ups(self) -> bool:
        """Whether all values are speed-ups, whose axis is logarithmic: half as fast is as far as twice as fast."""
        return {point.cell.declared.metric_name.metric for point in self.points()} == {"suf"}

    def lines(self) -> Iterator[dict[str, Value]]:
        """The lines of the CSV, one for each point; values are as the metric gives them, never percent."""
        for label, series in self.series.items():
            for point in series:
                place: dict[str, Value] = {"panel": self.title, "series": label, "axis": self.x_label, "x": point.x}
                declared = point.cell.declared
                values = {column: getattr(point.measured, name, None) for column, name in MEASURED.items()}
                yield {**place, "metric": declared.metric, "published": declared.published, **values}


def place_of(cell: Cell, name: str) -> int | None:
    """The cell's cutoff, the bytes of its items, or its setting ``name``; None where it has no such whole number."""
    if name == "bytes":
        return run_of(cell).settings.bytes_per_item
    if name == "cutoff":
        cutoff = cell.metric_name.cutoff
        return None if cutoff is None else cutoff.value
    value = cell.settings.get(name)
    return value if isinstance(value, int) else None


def require_ap(figure: FigureSpec) -> None:
    """Raises HashbenchError for a cell that is not the AP of the whole ranking by Hamming distance."""
    for cell in figure.cells:
        if not cell.is_ap:
            has = f"cell ({cell.row}, {cell.column}) has metric {cell.metric}, evaluation {cell.evaluation}"
            raise figure.error(f"{has}: {figure.file.kind} draws ap of the database")


def require_one_cell_a_row(figure: FigureSpec) -> None:
    """Raises HashbenchError for a row with two cells."""
    for row, n in Counter(cell.row for cell in figure.cells).items():
        if n > 1:
            raise figure.error(f"row {row!r} has {n} cells; {figure.file.kind} draws one of each row")


def filled(figure: FigureSpec, rows: Iterable[Row], store: Store, *, published: bool = True) -> Table:
    """The figure's cells with what ``rows`` hold for them, and without their published values if not ``published``."""
    table = figure.table
    assert table is not None
    if not published:
        cells = [cell.model_copy(update={"published": None}) for cell in figure.cells]
        table = table.model_copy(update={"cells": cells})
    return collect(table, rows, store)


def methods_of(panels: Iterable[Panel]) -> dict[str, str]:
    """The labels of the series with a measured or a published value, in order of appearance, with their methods."""
    methods: dict[str, str] = {}
    for panel in panels:
        for label, points in panel.series.items():
            if any(point.mean is not None or point.published is not None for point in points):
                methods.setdefault(label, points[0].cell.declared.method)
    return methods


def axes_of(figure: Figure, panels: Sized, across: int, *, share: bool) -> "list[Axes]":
    """The axes of each panel, ``across`` in a row; with ``share``, all have one scale. Places left over stay empty."""
    grid = figure.subplots(-(-len(panels) // across), across, squeeze=False, sharex=share, sharey=share).flatten()
    for ax in grid[len(panels) :]:
        ax.set_visible(False)
    return list(grid[: len(panels)])


def draw_lines(ax: Axes, panel: Panel, looks: Mapping[str, Look]) -> None:
    """A line for each row: measured points with the deviation, published ones hollow."""
    for label, look in looks.items():
        points = sorted(panel.series.get(label, []), key=lambda point: point.x or 0)
        if published := [(point.x, point.published) for point in points if point.published is not None]:
            x, y = zip(*published, strict=True)
            ax.plot(x, y, **look, markersize=4, markerfacecolor="w", markeredgewidth=0.8, linewidth=0.6)
        if measured := [(point.x, point.mean, point.std) for point in points if point.mean is not None]:
            x, y, std = zip(*measured, strict=True)
            ax.errorbar(x, y, std, **look, markersize=3, linewidth=1.0, elinewidth=0.6, capsize=1.5)
    ax.set(xticks=sorted({point.x for point in panel.points() if point.x is not None}), xlabel=panel.x_label)
    if panel.is_of_speed_ups:
        ax.set_yscale("log", base=2)
        ax.yaxis.set_major_formatter("{x:g}")
    ax.set_title(panel.title, loc="left")
    ax.grid(axis="y")


def line_samples(looks: Mapping[str, Look], *, hollow: bool = False) -> "dict[str, Artist]":
    """The lines of the legend of :func:`draw_lines`; ``hollow`` where only published values are drawn."""
    face = "w" if hollow else None
    width = 0.6 if hollow else 1
    return {
        label: lines.Line2D([], [], **look, markersize=3, markerfacecolor=face, linewidth=width)
        for label, look in looks.items()
    }


def draw_dots(ax: Axes, panel: Panel, labels: Sequence[str], *, ranges: bool, stds: bool = True) -> None:
    """A dot for each label from the top, hollow where published; with bars of ``ranges`` over ties, of deviations."""
    ax.use_sticky_edges = False  # a bar at the edge of the axes would look cut
    placed = [(place, point) for place, label in enumerate(labels) for point in panel.series.get(label, [])]
    if measured := [(point.mean, place, point.std) for place, point in placed if point.mean is not None]:
        means, places, deviations = zip(*measured, strict=True)
        ax.errorbar(
            means,
            places,
            xerr=deviations if stds else None,
            color=DOT,
            fmt="o",
            markersize=3,
            elinewidth=0.8,
            capsize=1.5,
        )
    if ranges:
        for place, point in placed:
            value = point.measured
            if value is not None and value.worst is not None and value.best is not None:
                length = value.best - value.worst
                ax.barh(place, length, left=value.worst, height=0.55, color=BAR, edgecolor=EDGE, linewidth=0.5)
    else:
        _mark(ax, placed)
    if published := [(point.published, place) for place, point in placed if point.published is not None]:
        x, y = zip(*published, strict=True)
        ax.plot(x, y, "o", color=HOLLOW, markersize=4.5, markerfacecolor="none", markeredgewidth=0.8)
    ax.set_yticks(range(len(labels)), labels)
    ax.set(ylim=(len(labels) - 0.5, -0.5), xlabel=panel.y_label, axisbelow=True)
    if panel.is_of_speed_ups:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter("{x:g}")
    ax.set_title(panel.title, loc="left")
    ax.grid(axis="x")
    ax.tick_params(axis="y", length=0)


def _mark(ax: Axes, placed: Iterable[tuple[int, Point]]) -> None:
    """Draws the best values large, and writes the signs of the measured ones beside them."""
    for place, point in placed:
        if point.measured is None or point.mean is None:
            continue
        if point.is_best:
            ax.plot(point.mean, place, "o", color=DOT, markersize=5)
        if signs := "".join(mark.value for mark in notation.marks_of(point.measured)):
            at = (point.mean, place)
            ax.annotate(signs, at, color=DOT, fontsize=6, xytext=(2, 2), textcoords="offset points")


def only_published(table: Table, what: str = "published") -> str:
    """What the marks mean where nothing is measured: hollow ones are ``what``; empty where that is nothing either."""
    if not table.has_published:
        return ""
    return f"Hollow: {what}; nothing is measured."


def share_missing(table: Table, otherwise: str) -> str | None:
    """The line that says how much is measured; None where all is. ``otherwise`` says what is drawn without it."""
    if not table.has_measured:
        return f"nothing is measured; {otherwise}"
    if table.n_measured == table.n_cells:
        return None
    return f"{table.n_measured} of {table.n_cells} points are measured"
