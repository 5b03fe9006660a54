"""The range of AP over all orders of tied items: a bar for each method from the worst to the best, a dot at AP_T."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashbench.figures._drawing import WIDTHS_IN, Drawing, explain, how_much
from hashbench.figures._file import CellsFile
from hashbench.figures._kind import FigureSpec, Kind
from hashbench.figures._panels import Panel, Point, axes_of, drawn, file_of, filled, line_of, only_published
from hashbench.runs.store import Row, Store
from hashbench.tables import notation
from hashbench.tables.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR, EDGE, DOT = "#56B4E9", "#0072B2", "#000000"
ROW_IN, AROUND_IN = 0.17, 0.62  # the height of a bar, and of what stands above and below a panel


@dataclass(frozen=True)
class _Ranges:
    """The panels, one for each number of bits, whose axes have the same scale."""

    panels: list[Panel]
    explanation: str
    across: int

    @property
    def labels(self) -> list[str]:
        return drawn(self.panels)

    def draw(self, figure: "Figure") -> None:
        for ax, panel in zip(axes_of(figure, self.panels, self.across, share=True), self.panels, strict=True):
            _panel(ax, panel, self.labels)
        explain(figure, self.explanation)


def fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure with what ``rows`` hold; where nothing is measured, with the published AP alone."""
    file, table = file_of(figure), filled(figure, rows, store)
    panels = _panels(table)
    n_measured = sum(cell.measured is not None for cell in table.cells())
    published = "drawn: the published AP_T, without ranges, which the paper does not print"
    otherwise = published if table.has_published else "nothing is drawn: the paper prints no values"
    across = min(file.panels_across, len(panels))
    ranges = _Ranges(panels, _explanation(table), across)
    lines = [
        line_of(panel, label, point) for panel in panels for label, series in panel.series.items() for point in series
    ]
    height = (AROUND_IN + ROW_IN * len(ranges.labels)) * -(-len(panels) // across)
    return Drawing(
        points=lines if n_measured or table.has_published else [],
        size_in=(WIDTHS_IN[file.width], 0.15 + height),
        draw=ranges.draw,
        n_measured=n_measured,
        missing=how_much(n_measured, len(lines), otherwise),
    )


def check(figure: FigureSpec) -> None:
    """Raises HashbenchError for a cell whose AP has no range over the orders of ties."""
    assert figure.cells is not None
    for cell in figure.cells.cells:
        if (cell.metric, cell.evaluation) != ("ap", "database"):
            raise figure.error(
                f"cell ({cell.row}, {cell.column}) has metric {cell.metric}, evaluation {cell.evaluation}: "
                "tie_ranges draws ap of the database"
            )
        if not isinstance(cell.settings.get("bits"), int):
            raise figure.error(f"cell ({cell.row}, {cell.column}) has no bits: tie_ranges has a panel for each number")


def _panels(table: Table) -> list[Panel]:
    """A panel for each number of bits; its title names the section where there are several."""
    series: dict[tuple[str, int], dict[str, list[Point]]] = defaultdict(dict)
    for section in table.sections:
        for (row, _), cell in section.cells.items():
            bits = cell.declared.settings["bits"]
            assert isinstance(bits, int)
            series[section.title, bits].setdefault(row, []).append(Point(bits, cell))
    several = len(table.sections) > 1
    return [
        Panel(f"{section}, {bits} bits" if several else f"{bits} bits", "bits", "mAP", of_panel)
        for (section, bits), of_panel in series.items()
    ]


def _explanation(table: Table) -> str:
    if not table.has_measured:
        return only_published(table, "published tie-aware AP")
    runs = notation.runs(table)
    measured = f"Bar: worst to best mAP over all orders of ties; dot: tie-aware AP ({runs})"
    return measured + ("; hollow: published." if table.has_published else ".")


def _panel(ax: "Axes", panel: Panel, labels: list[str]) -> None:
    ax.use_sticky_edges = False  # a bar at the edge of the axes would look cut
    for place, label in enumerate(labels):
        for point in panel.series.get(label, []):
            _range(ax, place, point)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.set_title(panel.title, loc="left")
    ax.set_xlabel(panel.y_label)
    ax.grid(axis="x")
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)


def _range(ax: "Axes", place: int, point: Point) -> None:
    measured = point.measured
    if measured is not None:
        if measured.worst is not None and measured.best is not None:
            width = measured.best - measured.worst
            ax.barh(place, width, left=measured.worst, height=0.55, color=BAR, edgecolor=EDGE, linewidth=0.5)
        ax.plot(measured.mean, place, "o", color=DOT, markersize=3)
    if point.published is not None:
        ax.plot(point.published, place, "o", color=DOT, markersize=4, markerfacecolor="none", markeredgewidth=0.7)


KIND = Kind("AP over all orders of ties: a bar from the worst to the best, a dot at AP_T", CellsFile, fill, check)
