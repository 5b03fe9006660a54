"""Measured against published values of the tables, with the band of the tolerance and the names of the furthest."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import Field

from hashbench.figures._drawing import WIDTHS_IN, Drawing, explain
from hashbench.figures._file import FigureFile
from hashbench.figures._kind import FigureSpec, Kind
from hashbench.foundation.errors import unknown
from hashbench.runs.store import Row, Store
from hashbench.tables import spec
from hashbench.tables.collect import collect
from hashbench.tables.csv_field import Value
from hashbench.tables.table import TableCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INSIDE, OUTSIDE, BAND = ("#0072B2", "o"), ("#D55E00", "^"), "0.88"
ABOVE_IN, NAME_IN = 0.5, 0.105  # how much higher than wide the figure is, and by each name below it


class AgreementFile(FigureFile):
    """The keys of such a figure: the tables (none: all), and how many cells are named."""

    tables: list[str] = []
    named: int = Field(default=10, ge=0, le=20)


@dataclass(frozen=True)
class _Cell:
    """A cell with both values and a tolerance, and the table that it is of."""

    table: str
    cell: TableCell

    @property
    def x(self) -> float:
        assert self.cell.declared.published is not None
        return self.cell.declared.published

    @property
    def y(self) -> float:
        assert self.cell.measured is not None
        return self.cell.measured.mean

    @property
    def tolerance(self) -> float:
        assert self.cell.declared.tolerance is not None
        return self.cell.declared.tolerance

    @property
    def name(self) -> str:
        declared = self.cell.declared
        labels = ", ".join(filter(None, (declared.row, declared.column, declared.section)))
        return f"{labels}: {self.x:.3f}, measured {self.y:.3f}"

    def line(self) -> dict[str, Value]:
        declared, measured = self.cell.declared, self.cell.measured
        return {
            "table": self.table,
            "section": declared.section,
            "row": declared.row,
            "column": declared.column,
            "metric": declared.metric,
            "published": self.x,
            "measured": self.y,
            "std": measured.std if measured else None,
            "n_runs": measured.n_runs if measured else None,
            "difference": self.cell.difference,
            "tolerance": self.tolerance,
            "within_tolerance": self.cell.within_tolerance,
        }


@dataclass(frozen=True)
class _Agreement:
    """The cells; the band is that of the tolerance that most of them have."""

    cells: list[_Cell]
    furthest: list[_Cell]

    def draw(self, figure: "Figure") -> None:
        ax = figure.add_subplot(aspect="equal")
        ends = _ends(self.cells)
        _band(ax, ends, _usual_tolerance(self.cells))
        for within, (colour, marker) in ((True, INSIDE), (False, OUTSIDE)):
            points = [cell for cell in self.cells if cell.cell.within_tolerance == within]
            label = f"{'within' if within else 'outside'} the tolerance: {len(points)}"
            x, y = [cell.x for cell in points], [cell.y for cell in points]
            ax.plot(x, y, marker, color=colour, markersize=3, alpha=0.75, markeredgewidth=0, label=label)
        _number(ax, self.furthest)
        ax.set(xlim=ends, ylim=ends, xlabel="published", ylabel="measured")
        figure.legend(loc="outside upper left", ncols=2, frameon=False, borderaxespad=0.1, handletextpad=0.1)
        explain(figure, _explanation(self.cells, self.furthest))


def fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure with every cell that has a published value with a tolerance, and that ``rows`` measure."""
    file = _file(figure)
    cells = list(_cells(file.tables or spec.names(), rows, store))
    drawn = _Agreement(cells, sorted(cells, key=_how_far_off)[: file.named])
    width = WIDTHS_IN[file.width]
    return Drawing(
        points=[cell.line() for cell in cells],
        size_in=(width, width + ABOVE_IN + NAME_IN * len(drawn.furthest)),
        draw=drawn.draw,
        n_measured=len(cells),
        missing=None if cells else "nothing is measured that has a published value with a tolerance; nothing is drawn",
    )


def check(figure: FigureSpec) -> None:
    """Raises HashbenchError for a table that is not declared."""
    known = spec.names()
    for name in _file(figure).tables:
        if name not in known:
            raise figure.error(f"tables: {unknown('table', name, known)}")


def _file(figure: FigureSpec) -> AgreementFile:
    assert isinstance(figure.file, AgreementFile)
    return figure.file


def _cells(tables: Iterable[str], rows: Sequence[Row], store: Store) -> Iterator[_Cell]:
    """The cells with both values and a tolerance; a metric that is no fraction has no place on the axes."""
    for name in tables:
        declared = spec.load(name)
        with_both = [c for c in declared.cells if c.published is not None and c.tolerance is not None]
        fractions = [cell for cell in with_both if cell.printed_as != "number"]
        table = collect(declared.model_copy(update={"cells": fractions}), rows, store)
        yield from (_Cell(name, cell) for cell in table.cells() if cell.measured is not None)


def _how_far_off(cell: _Cell) -> float:
    """The difference in tolerances, the largest first."""
    return -abs(cell.y - cell.x) / cell.tolerance


def _usual_tolerance(cells: Sequence[_Cell]) -> float:
    return Counter(cell.tolerance for cell in cells).most_common(1)[0][0]


def _ends(cells: Sequence[_Cell]) -> tuple[float, float]:
    """The ends of both axes, with a little room around the values."""
    values = [value for cell in cells for value in (cell.x, cell.y)]
    least, most = min(values), max(values)
    room = 0.05 * (most - least) or 0.05
    return least - room, most + room


def _explanation(cells: Sequence[_Cell], furthest: Sequence[_Cell]) -> str:
    usual = _usual_tolerance(cells)
    n_others = sum(cell.tolerance != usual for cell in cells)
    others = f"; {n_others} cells have another" if n_others else ""
    names = " Furthest off:" if furthest else ""
    head = f"Line: equal. Grey: the tolerance of {usual:g} around it{others}.{names}"
    return "\n".join([head, *(f"{place}  {cell.name}" for place, cell in enumerate(furthest, 1))])


def _band(ax: "Axes", ends: tuple[float, float], tolerance: float) -> None:
    lower, upper = ([end + aside for end in ends] for aside in (-tolerance, tolerance))
    ax.fill_between(ends, lower, upper, color=BAND, linewidth=0, zorder=0)
    ax.plot(ends, ends, color="0.4", linewidth=0.6, zorder=1)


def _number(ax: "Axes", cells: Sequence[_Cell]) -> None:
    """The numbers of the named cells, on the side of their points that is away from the line."""
    for place, cell in enumerate(cells, 1):
        above = cell.y > cell.x
        aside, align = (-3, "right") if above else (3, "left")
        ax.annotate(
            f"{place}",
            (cell.x, cell.y),
            xytext=(aside, 0),
            textcoords="offset points",
            ha=align,
            va="center",
            fontsize=5.5,
        )


KIND = Kind("measured against published values, with the band of the tolerance", AgreementFile, fill, check)
