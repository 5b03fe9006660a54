"""A metric over the number of bits, over k, or over a cutoff: a panel for each section, a line for each row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from hashbench.figures import _legend, _speed_up
from hashbench.figures._drawing import WIDTHS_IN, Drawing, explain, how_much
from hashbench.figures._file import CellsFile
from hashbench.figures._kind import FigureSpec, Kind
from hashbench.figures._panels import Panel, Point, axes_of, drawn, explanation, filled, line_of
from hashbench.metrics import MetricName
from hashbench.runs.store import Row, Store
from hashbench.tables.cell import Cell
from hashbench.tables.csv_field import Value
from hashbench.tables.render_png import RowStyle, styles
from hashbench.tables.table import Section, Table

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bound = Literal["suf"]
BOUND, BOUND_COLOUR = "equal buckets (eq. 11)", "#000000"
AXES = {"bits": "bits", "k": "k", "cutoff": "retrieved items K"}  # what may vary along a row, and its name
PANEL_IN = 2.0  # the height of a panel


class LinesFile(CellsFile):
    """The keys of such a figure; ``bound`` draws the speed-up of codes that use all buckets equally.

    With ``published`` false only measured values are drawn: for a table whose published ones stand there to orientate.
    """

    bound: Bound | None = None
    published: bool = True


@dataclass(frozen=True)
class _Lines:
    """The panels, each with its bound (empty: none), and what is drawn around them."""

    panels: list[Panel]
    bounds: list[list[tuple[int, float]]]
    explanation: str
    across: int

    @property
    def labels(self) -> list[str]:
        return drawn(self.panels)

    def draw(self, figure: "Figure") -> None:
        looks = styles(self.labels)
        grid = axes_of(figure, self.panels, self.across, share=False)
        for place, (ax, panel, bound) in enumerate(zip(grid, self.panels, self.bounds, strict=True)):
            _panel(ax, panel, bound, looks)
            left = self.panels[place - 1] if place % self.across else None
            if left is None or left.y_label != panel.y_label:
                ax.set_ylabel(panel.y_label)
        hollow = all(point.mean is None for point in _all(self.panels))
        _legend.draw(figure, _samples(looks, any(self.bounds), hollow))
        explain(figure, self.explanation)


def fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure with what ``rows`` hold; where nothing is measured, with the published values and the bound."""
    file = _file(figure)
    table = filled(figure if file.published else _without_published(figure), rows, store)
    panels = [_of_section(section) for section in table.sections]
    bounds = [_bound(panel, file) for panel in panels]
    n_measured = sum(cell.measured is not None for cell in table.cells())
    otherwise = _otherwise(table, any(bounds))
    across = min(file.panels_across, len(panels))
    shown = n_measured > 0 or table.has_published or any(bounds)
    lines = _Lines(panels, bounds, explanation(table, "; bars: standard deviation"), across)
    down = -(-len(panels) // across)
    width = WIDTHS_IN[file.width]
    legend_in = _legend.height_in(len(lines.labels) + any(bounds), width)
    return Drawing(
        points=_points(panels, bounds, file) if shown else [],
        size_in=(width, 0.25 + PANEL_IN * down + legend_in),
        draw=lines.draw,
        n_measured=n_measured,
        missing=how_much(n_measured, sum(1 for _ in table.cells()), otherwise),
    )


def _without_published(figure: FigureSpec) -> FigureSpec:
    assert figure.cells is not None
    cells = [cell.model_copy(update={"published": None}) for cell in figure.cells.cells]
    return replace(figure, cells=figure.cells.model_copy(update={"cells": cells}))


def check(figure: FigureSpec) -> None:
    """Raises HashbenchError unless exactly one of bits, k and cutoff varies along the rows of each section."""
    assert figure.cells is not None
    sections = dict.fromkeys(cell.section for cell in figure.cells.cells)
    for section in sections:
        cells = [cell for cell in figure.cells.cells if cell.section == section]
        varying = _varying(cells)
        if len(varying) != 1:
            found = " and ".join(varying) or "none of them"
            raise figure.error(f"section {section!r}: one of bits, k and cutoff must vary by column; {found} does")
        if None in {_place(cell, varying[0]) for cell in cells}:
            raise figure.error(f"section {section!r}: a column has no {varying[0]}")
        sizes = {_place(cell, "d") for cell in cells}
        if _file(figure).bound is not None and (varying != ["k"] or len(sizes) > 1 or None in sizes):
            raise figure.error(f"section {section!r}: the bound {_file(figure).bound} is a line over k at one d")


def _varying(cells: Sequence[Cell]) -> list[str]:
    """What of :data:`AXES` differs between the columns of these cells."""
    return [name for name in AXES if len({_place(cell, name) for cell in cells}) > 1]


def _place(cell: Cell, name: str) -> int | None:
    if name == "cutoff":
        cutoff = MetricName.read(cell.metric).cutoff
        return None if cutoff is None else cutoff.value
    value = cell.settings.get(name)
    return value if isinstance(value, int) else None


def _of_section(section: Section) -> Panel:
    """The panel of a section. "USPS: NDCG" is a panel called USPS, whose y-axis is called NDCG."""
    title, _, y_label = section.title.partition(": ")
    cells = [cell.declared for cell in section.cells.values()]
    (varying,) = _varying(cells)
    series = {
        row: sorted(
            (Point(_place(cell.declared, varying), cell) for (label, _), cell in section.cells.items() if label == row),
            key=lambda point: point.x or 0,
        )
        for row in section.rows
    }
    percent = " (%)" if all(cell.printed_as == "percent" for cell in cells) else ""
    return Panel(title, AXES[varying], (y_label or cells[0].metric) + percent, series)


def _file(figure: FigureSpec) -> LinesFile:
    assert isinstance(figure.file, LinesFile)
    return figure.file


def _bound(panel: Panel, file: LinesFile) -> list[tuple[int, float]]:
    """The expected speed-up over k; none where the figure has no bound."""
    if file.bound is None:
        return []
    settings = [point.cell.declared.settings for point in panel.points()]
    sizes = {(int(of_cell["d"]), int(of_cell["k"])) for of_cell in settings}
    return [(k, _speed_up.expected(d, k)) for d, k in sorted(sizes)]


def _points(panels: list[Panel], bounds: list[list[tuple[int, float]]], file: LinesFile) -> list[dict[str, Value]]:
    lines = []
    for panel, bound in zip(panels, bounds, strict=True):
        expected = dict(bound)
        for label, series in panel.series.items():
            for point in series:
                more = {"bound": expected[point.x or 0]} if file.bound else {}
                lines.append({**line_of(panel, label, point), **more})
    return lines


def _otherwise(table: Table, has_bound: bool) -> str:
    parts = [*(["the published values"] if table.has_published else []), *(["the bound"] if has_bound else [])]
    return f"drawn: {' and '.join(parts)}" if parts else "nothing is drawn: the paper prints no values"


def _panel(ax: "Axes", panel: Panel, bound: list[tuple[int, float]], looks: dict[str, RowStyle]) -> None:
    if bound:
        ax.plot(*zip(*bound, strict=True), color=BOUND_COLOUR, linestyle=(0, (1, 1)), linewidth=1.0, zorder=1)
    for label, look in looks.items():
        points = panel.series.get(label, [])
        _published(ax, points, look)
        _measured(ax, points, look)
    ticks = sorted({point.x for point in panel.points() if point.x is not None})
    ax.set_xticks(ticks)
    ax.set_title(panel.title, loc="left")
    ax.set_xlabel(panel.x_label)
    ax.grid(axis="y")


def _published(ax: "Axes", points: Sequence[Point], look: RowStyle) -> None:
    """Hollow marks on a thin line."""
    known = [(point.x, point.published) for point in points if point.published is not None]
    if known:
        x, y = zip(*known, strict=True)
        ax.plot(
            x,
            y,
            look.marker,
            color=look.colour,
            linestyle=look.line,
            linewidth=0.6,
            markersize=4,
            markerfacecolor="w",
            markeredgewidth=0.8,
        )


def _measured(ax: "Axes", points: Sequence[Point], look: RowStyle) -> None:
    """Filled marks on a line, with the standard deviation over seeds."""
    known = [(point.x, point.mean, _std(point)) for point in points if point.mean is not None]
    if known:
        x, y, std = zip(*known, strict=True)
        ax.errorbar(
            x,
            y,
            std,
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            markersize=3,
            linewidth=1.0,
            elinewidth=0.6,
            capsize=1.5,
        )


def _std(point: Point) -> float:
    return point.scaled(point.measured.std if point.measured else None) or 0.0


def _all(panels: Sequence[Panel]) -> Iterator[Point]:
    return (point for panel in panels for point in panel.points())


def _samples(looks: dict[str, RowStyle], has_bound: bool, hollow: bool) -> "dict[str, Artist]":
    """The rows of the legend, in the order of the table; hollow marks where only published values are drawn."""
    from matplotlib.lines import Line2D

    samples: dict[str, Artist] = {
        label: Line2D(
            [],
            [],
            color=look.colour,
            marker=look.marker,
            linestyle=look.line,
            markersize=3,
            markerfacecolor="w" if hollow else look.colour,
            linewidth=0.6 if hollow else 1.0,
        )
        for label, look in looks.items()
    }
    if has_bound:
        samples[BOUND] = Line2D([], [], color=BOUND_COLOUR, linestyle=(0, (1, 1)), linewidth=1.0)
    return samples


KIND = Kind("a metric over bits, k or a cutoff: a panel for each section, a line for each row", LinesFile, fill, check)
