"""A filled table as panels of points: what most kinds of figures draw."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashbench.figures._file import CellsFile
from hashbench.figures._kind import FigureSpec
from hashbench.runs.store import Row, Store
from hashbench.tables import notation
from hashbench.tables.collect import collect
from hashbench.tables.csv_field import Value
from hashbench.tables.table import Measured, Table, TableCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# the columns of the CSV that hold what was measured
MEASURED = {"measured": "mean", "std": "std", "n_seeds": "n_seeds", "worst": "worst", "best": "best"}


@dataclass(frozen=True)
class Point:
    """A cell at its place on the x-axis (None: a panel without one)."""

    x: int | None
    cell: TableCell

    @property
    def published(self) -> float | None:
        """The published value, in the unit of the paper."""
        return self.scaled(self.cell.declared.published)

    @property
    def measured(self) -> Measured | None:
        """What was measured, as the metric gives it."""
        return self.cell.measured

    @property
    def mean(self) -> float | None:
        """The measured mean, in the unit of the paper."""
        return self.scaled(self.measured.mean if self.measured else None)

    def scaled(self, value: float | None) -> float | None:
        """``value`` in the unit in which the paper prints this cell."""
        return None if value is None else value * notation.scale(self.cell.declared.printed_as)


@dataclass(frozen=True)
class Panel:
    """One pair of axes: its series by label; the series of all panels together have one legend."""

    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[Point]]

    def points(self) -> Iterator[Point]:
        """All points of all series."""
        for series in self.series.values():
            yield from series


def file_of(figure: FigureSpec) -> CellsFile:
    """The file of a figure that is made of cells."""
    assert isinstance(figure.file, CellsFile)
    return figure.file


def filled(figure: FigureSpec, rows: Iterable[Row], store: Store) -> Table:
    """The figure's cells with what ``rows`` hold for them."""
    assert figure.cells is not None
    return collect(figure.cells, rows, store)


def drawn(panels: Iterable[Panel]) -> list[str]:
    """The labels of the series with a measured or a published value, in order of appearance."""
    return list(
        dict.fromkeys(
            label
            for panel in panels
            for label, series in panel.series.items()
            if any(point.mean is not None or point.published is not None for point in series)
        )
    )


def axes_of(figure: "Figure", panels: Sequence[Panel], across: int, *, share: bool) -> "list[Axes]":
    """The axes of each panel, ``across`` in a row; with ``share``, all have one scale. Places left over stay empty."""
    grid = figure.subplots(-(-len(panels) // across), across, squeeze=False, sharex=share, sharey=share).flatten()
    for ax in grid[len(panels) :]:
        ax.set_visible(False)
    return list(grid[: len(panels)])


def line_of(panel: Panel, label: str, point: Point) -> dict[str, Value]:
    """The line of the CSV for a point; values are as the metric gives them, never percent."""
    measured = point.measured
    return {
        "panel": panel.title,
        "series": label,
        "axis": panel.x_label,
        "x": point.x,
        "metric": point.cell.declared.metric,
        "published": point.cell.declared.published,
        **{key: None if measured is None else getattr(measured, value) for key, value in MEASURED.items()},
    }


def only_published(table: Table, what: str = "published") -> str:
    """What the marks mean where nothing is measured: hollow ones are ``what``; empty where that is nothing either."""
    return f"Hollow: {what}; nothing is measured." if table.has_published else ""


def explanation(table: Table, bars: str) -> str:
    """What the marks mean: filled ones are measured, hollow ones published. ``bars`` says what its bars are."""
    if not table.has_measured:
        return only_published(table)
    several = any(cell.measured and cell.measured.std is not None for cell in table.cells())
    runs = notation.runs_behind(table) + bars if several else notation.runs(table)
    return f"Filled: measured, {runs}" + ("; hollow: published." if table.has_published else ".")
